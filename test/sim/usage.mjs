// A preload that leaves in a file what the process has used: `--import <this file>?<path>`. The peak of
// its memory is in kibibytes, its processor time in milliseconds. Plain JavaScript: to strip types Node
// would load its parser for them, of 20 MB.

import { readFileSync, writeFileSync } from 'node:fs';

const path = decodeURIComponent(new URL(import.meta.url).search.slice(1));

/** On Linux not maxRSS: there a process that was spawned begins with the peak of its parent. */
function peakKib() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS;
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  writeFileSync(path, JSON.stringify({ peakKib: peakKib(), cpuMs: (user + system) / 1000 }));
});
