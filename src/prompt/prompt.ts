import type { Story } from '../comment/render.ts';
import type { Stop } from '../job/stop-reasons.ts';
import { blocks } from '../markdown.ts';
import type { Runtime } from '../runner/environment.ts';
import type { Request } from './request.ts';
import { formatLogLines, formatMessage, formatPreview, type Section } from './sections.ts';

/** What is sent, and what people see of it. What is fetched just before it is sent completes it. */
export class Prompt {
  readonly #runtime: Pick<Runtime, 'log' | 'redact' | 'signal'>;
  readonly #request: Request;
  readonly #logged = new Set<string>();
  #sections: readonly Section[] = [];
  /** All that is sent. */
  text = '';
  /** Settled when it is complete, with why all jobs stop if it is not sent. Only complete-message.ts sets it. */
  completion?: Promise<Stop | undefined>;

  /** `origin`: the paragraph that says where it comes from, or an empty text. */
  constructor(
    runtime: Pick<Runtime, 'log' | 'redact' | 'signal'>,
    request: Request,
    origin: string,
  ) {
    this.#runtime = runtime;
    this.#request = request;
    this.complete([], origin);
  }

  /** Takes what was fetched, instead of what was fetched for an earlier try. */
  complete(fetched: readonly Section[], origin: string): void {
    const { prompt, words, defaultTask, sections } = this.#request;
    this.#sections = [...fetched, ...sections];
    const all: readonly Section[] = [{ place: 'about', parts: [origin] }, ...this.#sections];
    this.text = formatMessage([prompt, words, defaultTask], all);
    const { log, signal } = this.#runtime;
    for (const { level, text } of formatLogLines(this.#sections)) {
      // A cancelled run reports that alone.
      if (!signal.aborted && !this.#logged.has(text)) log[level](text);
      this.#logged.add(text);
    }
  }

  get commentsOn(): ReadonlyMap<string, number> {
    return this.#request.commentsOn;
  }

  /** What people see of it. It is cut later: a part of a secret would not be recognized. */
  get preview(): Pick<Story, 'prompt' | 'attached' | 'message'> {
    const { redact } = this.#runtime;
    const { prompt, words } = this.#request;
    return {
      prompt: redact(blocks([prompt, words])),
      attached: formatPreview(this.#sections),
      message: redact(this.text),
    };
  }
}
