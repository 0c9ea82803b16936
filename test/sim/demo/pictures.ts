// `npm run pictures`: the pictures of the README, taken by a headless Chromium of what the action
// wrote in two stories. Chromium is the program that CHROMIUM names, or else one on the PATH;
// pngquant, on the PATH, makes the files small.

import { execFileSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { story as comment } from './comment.ts';
import { story as nudge } from './nudge.ts';
import { renderComments, renderSummary, writeDocument } from './page.ts';
import { tell } from './tell.ts';

const FOLDER = join(import.meta.dirname, '../../../.github/pictures');
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** Higher than any picture, in pixels of the page. */
const ROOM = 3000;
/** Pixels of the picture in one of the page: GitHub shows them on screens that have more of them. */
const SCALE = 2;
/** Enough for black, greys and the few colours of a chart: the files are to stay small. */
const COLOURS = 32;

const chromium = findChromium();
const { conversations } = await tell(comment);
const said = conversations[0]?.comments.filter(({ author }) => author !== 'mallory') ?? [];
takePictures('comment', 880, renderComments(said));
const { runs } = await tell(nudge);
takePictures('summary', 1000, renderSummary(runs[0]?.result.summary ?? ''));

function findChromium(): string {
  const { CHROMIUM: given, PATH = '' } = process.env;
  if (given) return given;
  const files = PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = files.find(isProgram);
  if (found === undefined) throw new Error('There is no Chromium on the PATH; set CHROMIUM.');
  return found;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function takePictures(name: string, width: number, body: string): void {
  takePicture(name, 'light', width, body);
  takePicture(`${name}-dark`, 'dark', width, body);
}

function takePicture(name: string, theme: string, width: number, body: string): void {
  const page = writeDocument(`${name}.html`, `<div class="picture ${theme}">${body}</div>`);
  const drawn = browse(page, width, ROOM, '--dump-dom');
  const height = /data-height="(\d+)"/.exec(drawn)?.[1];
  if (height === undefined) throw new Error(`Chromium has not drawn ${page}.`);
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${name}.png`);
  const scale = `--force-device-scale-factor=${SCALE}`;
  browse(page, width, Number(height), scale, `--screenshot=${file}`);
  execFileSync('pngquant', [`${COLOURS}`, '--nofs', '--strip', '--force', '--output', file, file]);
  console.log(`${file}: ${width} x ${height}, ${statSync(file).size} bytes`);
}

function browse(page: string, width: number, height: number, ...flags: readonly string[]): string {
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  try {
    return execFileSync(
      chromium,
      [
        ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
        ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
        ...['--hide-scrollbars', '--virtual-time-budget=10000', `--user-data-dir=${profile}`],
        `--window-size=${width},${height}`,
        ...flags,
        pathToFileURL(page).href,
      ],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 60_000 },
    );
  } finally {
    rmSync(profile, { recursive: true, force: true });
  }
}
