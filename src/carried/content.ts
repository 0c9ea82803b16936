import { blocks } from '../markdown.ts';
import { type Output, quoteOutputs } from './output.ts';

// What a message consists of: the prompt of the workflow, the words of a person, and what the event and files carry.

/** What a message carries besides the words of people. */
export interface Carried {
  /** Paragraphs, in which names by others are quoted. */
  readonly parts: readonly string[];
  readonly outputs: readonly Output[];
  /** What people see instead: Markdown, in which names by others are code, such as ``+ `vale.txt` ``; without secrets. */
  readonly attached: readonly string[];
  /** How many inline comments of the review there are on each file. */
  readonly commentsOn?: ReadonlyMap<string, number>;
  /** What the message does not have, in our words, such as `the log of “links”, which could not be read`. */
  readonly omitted?: readonly string[];
}

/** What is read just before the message. */
export interface Late {
  readonly carried: Carried;
  /** What is carried instead if the pull request has another newest commit than this one. */
  readonly ifNewer?: { readonly pull: number; readonly sha: string; readonly carried: Carried };
}

/** All that is sent. */
export interface Content extends Carried {
  /** Of the workflow; empty for none. */
  readonly prompt: string;
  /** Of a person; empty for none. */
  readonly words: string;
  /** What we ask for if nobody else asks for anything; or empty. */
  readonly ask: string;
  readonly commentsOn: ReadonlyMap<string, number>;
}

/**
 * The message, and what people see of it: the words of people, and a line for all else. `place` says where it comes from, if
 * the agent needs to know.
 */
export function compose(
  { prompt, words, ask, parts, outputs, attached, omitted = [] }: Omit<Content, 'commentsOn'>,
  place = '',
) {
  const left = omitted.length === 0 ? '' : `Not shown: ${omitted.join('; ')}.`;
  return {
    prompt: blocks([prompt, words, ask, place, ...parts, quoteOutputs(outputs), left]),
    shown: blocks([prompt, words]),
    attached: attached.join(' '),
  };
}
