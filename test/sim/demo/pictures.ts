// `npm run pictures` takes the pictures of the README with a headless Chromium. They show comments
// of the story. Chromium is the program that CHROMIUM names, or
// chromium-headless-shell on the PATH; pngquant, on the PATH, makes the files small.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { renderEntries, writeDocument } from './page.ts';
import { play } from './play.ts';

const FOLDER = join(import.meta.dirname, '../../../.github/pictures');
const WIDTH = 880;
/** Higher than any picture, in pixels of the page. */
const ROOM = 3000;
/** Pixels of the picture per pixel of the page, for screens with a high resolution. */
const SCALE = 2;
/** Enough for black, greys and the few colours of icons. Fewer colours make the files smaller. */
const COLOURS = 32;

const { CHROMIUM: chromium = 'chromium-headless-shell' } = process.env;
const { entries } = await play();
const asked = entries.findIndex(({ body }) => body.startsWith('/agent there is no page'));
takePictures('command', renderEntries(entries.slice(asked, asked + 2)));

function takePictures(name: string, body: string): void {
  takePicture(name, 'light', body);
  takePicture(`${name}-dark`, 'dark', body);
}

function takePicture(name: string, theme: string, body: string): void {
  const page = writeDocument(`${name}.html`, `<div class="picture ${theme}">${body}</div>`);
  const drawn = browse(page, ROOM, '--dump-dom');
  const height = /data-height="(\d+)"/.exec(drawn)?.[1];
  if (height === undefined) throw new Error(`Chromium has not drawn ${page}.`);
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${name}.png`);
  const scale = `--force-device-scale-factor=${SCALE}`;
  browse(page, Number(height), scale, `--screenshot=${file}`);
  execFileSync('pngquant', [`${COLOURS}`, '--nofs', '--strip', '--force', '--output', file, file]);
  console.log(`${file}: ${WIDTH} x ${height}, ${statSync(file).size} bytes`);
}

function browse(page: string, height: number, ...flags: readonly string[]): string {
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  try {
    return execFileSync(
      chromium,
      [
        ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
        ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
        ...['--hide-scrollbars', '--virtual-time-budget=10000', `--user-data-dir=${profile}`],
        `--window-size=${WIDTH},${height}`,
        ...flags,
        pathToFileURL(page).href,
      ],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 60_000 },
    );
  } finally {
    rmSync(profile, { recursive: true, force: true });
  }
}
