import type { GitHub } from '../github/client.ts';
import {
  CHECK_TOKEN,
  describeError,
  GitHubError,
  hintFor,
  mayPassLater,
} from '../github/errors.ts';
import { PERMISSIONS, type Permission } from '../runner/inputs.ts';
import { quote, sentences } from '../text.ts';
import { type Account, sameLogin } from './account.ts';

/** Whether a person has a permission. `why` is a sentence. */
type PermissionCheck =
  | { readonly kind: 'enough' }
  /** `isColleague`: GitHub says that the person may at least triage. */
  | { readonly kind: 'too little'; readonly why: string; readonly isColleague: boolean }
  /** It could not be checked, so nothing is allowed. `cause`: a phrase. `mayPass`: whether that may pass by itself. */
  | {
      readonly kind: 'not known';
      readonly why: string;
      readonly cause: string;
      readonly mayPass: boolean;
    };

const OTHER_TOKEN =
  `${CHECK_TOKEN} Without that check, only “minimum-permission: none” sends; anyone who can start ` +
  'the workflow then gets in.';

/** Words that people would take for something about the person. */
const ABOUT_TOKEN = /not accessible by|Must have push access/;

/** Asks GitHub for the permission, because neither `author_association` nor the name of an account proves it. */
export async function checkPermission(
  { login, id }: Account,
  minimum: Permission,
  github: GitHub,
): Promise<PermissionCheck> {
  const name = quote(login, 100);
  try {
    const found = await github.collaborator(login);
    if (found !== null && (id === null ? !sameLogin(found.login, login) : found.id !== id)) {
      const cause = 'GitHub returned another user';
      const why = `${cause} when asked for the permission of ${name}. If the account was renamed, write a new comment or start a new run.`;
      return { kind: 'not known', why, cause, mayPass: false };
    }
    const levels: readonly string[] = ['none', ...PERMISSIONS];
    const level = levels.indexOf(found?.permission ?? 'none');
    if (level >= levels.indexOf(minimum)) return { kind: 'enough' };
    // The token may not see the members of a team, nor an account under its old name.
    const why = `${name} lacks the ${minimum} permission on this repository (“minimum-permission”), or “github-token” cannot read it.`;
    return { kind: 'too little', why, isColleague: level > 0 };
  } catch (error) {
    if (!(error instanceof GitHubError)) throw error;
    const cause = error.message;
    const why = sentences(
      `The permission of ${name} cannot be checked: ${cause}.`,
      adviseOnCheck(error),
    );
    return { kind: 'not known', why, cause, mayPass: mayPassLater(error) };
  }
}

/** Empty where GitHub's own words say it, as of SAML, a list of IP addresses or a renamed repository. */
function adviseOnCheck(error: unknown): string {
  if (mayPassLater(error)) return hintFor(error);
  const isToken = error instanceof GitHubError && error.status === 401;
  return isToken || ABOUT_TOKEN.test(describeError(error)) ? OTHER_TOKEN : '';
}
