import type { Story } from '../comment/render.ts';
import type { Stop } from '../job/stop-reasons.ts';
import { blocks } from '../markdown.ts';
import type { Runtime } from '../runner/environment.ts';
import type { Content } from './request.ts';
import { lineOf, logOf, messageOf, type Thing } from './sections.ts';

/** What is sent, and what people see of it. It changes until it is sent, as more is read. */
export class Message {
  readonly #runtime: Pick<Runtime, 'log' | 'redact' | 'signal'>;
  #content: Content;
  #things: readonly Thing[] = [];
  #text = '';
  readonly #told = new Set<string>();
  /** Settled when the last thing that belongs to it is read; the end of all jobs if it is not sent. Only late.ts sets it. */
  reading?: Promise<Stop | undefined>;

  /** `place`: the paragraph that says where it comes from, or an empty text. */
  constructor(
    runtime: Pick<Runtime, 'log' | 'redact' | 'signal'>,
    content: Content,
    place: string,
  ) {
    this.#runtime = runtime;
    this.#content = content;
    this.setLate([], place);
  }

  setContent(content: Content, place: string): void {
    this.#content = content;
    this.setLate([], place);
  }

  /** Adds what is read just before it is sent, instead of what was read for an earlier try. */
  setLate(things: readonly Thing[], place: string): void {
    const { prompt, words, ask } = this.#content;
    this.#things = [...things, ...this.#content.things];
    const about: Thing = { place: 'about', parts: [place] };
    this.#text = messageOf([prompt, words, ask], [about, ...this.#things]);
    this.#tell();
  }

  /** Each line once. A cancelled run reports that alone. */
  #tell(): void {
    const { log, signal } = this.#runtime;
    for (const { level, text } of logOf(this.#things)) {
      if (!signal.aborted && !this.#told.has(text)) log[level](text);
      this.#told.add(text);
    }
  }

  /** All that is sent. */
  get text(): string {
    return this.#text;
  }

  /** How many inline comments of a review it has on each file. */
  get commentsOn(): ReadonlyMap<string, number> {
    return this.#content.commentsOn;
  }

  /** What people see of it. It is cut later: a part of a secret would not be recognized. */
  get shown(): Pick<Story, 'prompt' | 'attached' | 'message'> {
    const { redact } = this.#runtime;
    const { prompt, words } = this.#content;
    return {
      prompt: redact(blocks([prompt, words])),
      attached: lineOf(this.#things),
      message: redact(this.#text),
    };
  }
}
