import type { GitHub } from '../github/client.ts';
import {
  CHECK_TOKEN,
  GitHubError,
  hintFor,
  lacksPermission,
  mayPassLater,
} from '../github/errors.ts';
import { PERMISSIONS, type Permission } from '../runner/inputs.ts';
import { quote, sentences } from '../text.ts';
import { type Account, sameLogin } from './account.ts';

/** `why` is a sentence, and `cause` a phrase. */
type PermissionCheck =
  | { readonly kind: 'enough' }
  | { readonly kind: 'too little'; readonly why: string; readonly isColleague: boolean }
  | {
      readonly kind: 'not known';
      readonly why: string;
      readonly cause: string;
      readonly mayPass: boolean;
    };

const OTHER_TOKEN =
  `${CHECK_TOKEN} Without that check, only “minimum-permission: none” sends; anyone who can ` +
  'start the workflow then gets in.';

/** Neither `author_association` nor the name of an account proves a permission. */
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
      const why =
        `${cause} when asked for the permission of ${name}. If the account was renamed, write a ` +
        'new comment or start a new run.';
      return { kind: 'not known', why, cause, mayPass: false };
    }
    const levels: readonly string[] = ['none', ...PERMISSIONS];
    const level = levels.indexOf(found?.permission ?? 'none');
    if (level >= levels.indexOf(minimum)) return { kind: 'enough' };
    // The token may not see the members of a team, nor an account under its old name.
    const why =
      `${name} lacks the ${minimum} permission on this repository (“minimum-permission”), or ` +
      '“github-token” cannot read it.';
    return { kind: 'too little', why, isColleague: level > 0 };
  } catch (error) {
    if (!(error instanceof GitHubError)) throw error;
    const cause = error.message;
    const mayPass = mayPassLater(error);
    const isToken = error.status === 401 || lacksPermission(error);
    // Of SAML or a list of IP addresses, GitHub's own words say enough.
    const ofToken = isToken ? OTHER_TOKEN : '';
    const advice = mayPass ? hintFor(error) : ofToken;
    const why = sentences(`The permission of ${name} cannot be checked: ${cause}.`, advice);
    return { kind: 'not known', why, cause, mayPass };
  }
}
