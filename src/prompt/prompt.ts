import type { Stop } from '../job/stop-reasons.ts';
import { blocks } from '../markdown.ts';
import type { Runtime } from '../runner/environment.ts';
import type { Request } from './request.ts';
import { formatLogLines, formatMessage, formatPreview, type Section } from './sections.ts';

const ATTACHED_FILE =
  /https:\/\/(?:github\.com\/user-attachments|private-user-images\.githubusercontent\.com)\/[\w/-]+(?:\.\w+)*/g;
const MOST_FILES_NAMED = 5;

/** In a private repository, nobody else can open them. `text` is without secrets. */
function omitFiles(text: string): Section {
  const files = [...new Set(text.match(ATTACHED_FILE))].slice(0, MOST_FILES_NAMED);
  const why = 'only people who are signed in to GitHub can open it';
  return { slot: 'about', omissions: files.map((file) => ({ what: `what is at ${file}`, why })) };
}

export class Prompt {
  readonly request: Request;
  readonly #runtime: Runtime;
  readonly #logged = new Set<string>();
  #origin = '';
  #sections: readonly Section[] = [];
  text = '';
  /** Settled when it is complete, with why all jobs stop if it is not sent. */
  completion?: Promise<Stop | undefined>;

  constructor(runtime: Runtime, request: Request) {
    this.#runtime = runtime;
    this.request = request;
    this.complete([], '');
  }

  /** Replaces what was fetched before. `origin`: a paragraph that says where it comes from. */
  complete(fetched: readonly Section[], origin: string): void {
    const { log, redact, signal } = this.#runtime;
    this.#origin = origin;
    this.#sections = [...fetched, ...this.request.sections];
    this.setDestination('');
    if (this.request.isPrivate) {
      this.#sections = [...this.#sections, omitFiles(redact(this.text))];
      this.setDestination('');
    }
    for (const { level, text } of formatLogLines(this.#sections)) {
      if (!signal.aborted && !this.#logged.has(text)) log[level](text);
      this.#logged.add(text);
    }
  }

  setDestination(sentence: string): void {
    const { prompt, words } = this.request;
    const about: Section = { slot: 'about', parts: [this.#origin, sentence] };
    this.text = formatMessage([prompt, words], [about, ...this.#sections]);
  }

  /** It is cut later: a part of a secret would not be recognized. */
  get preview() {
    const { redact } = this.#runtime;
    const { prompt, words } = this.request;
    return {
      prompt: redact(blocks([prompt, words])),
      attached: formatPreview(this.#sections),
      message: redact(this.text),
    };
  }
}
