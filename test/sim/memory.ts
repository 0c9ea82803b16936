// A preload that leaves the peak of the process's memory in a file: `--import <this file>?<path>`.
// In kibibytes.

import { writeFileSync } from 'node:fs';

const path = decodeURIComponent(new URL(import.meta.url).search.slice(1));

process.on('exit', () => writeFileSync(path, String(process.resourceUsage().maxRSS)));
