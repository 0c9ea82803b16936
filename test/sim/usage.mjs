// A preload that writes the memory (KiB) and CPU time (ms) of the process to a file. It is JavaScript
// because Node would load a parser of 20 MB to strip types.

import { readFileSync, writeFileSync } from 'node:fs';

const path = decodeURIComponent(new URL(import.meta.url).search.slice(1));

/** Not maxRSS on Linux: a spawned process starts with the peak of its parent. */
function peakKib() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS;
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
}

process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  writeFileSync(path, JSON.stringify({ peakKib: peakKib(), cpuMs: (user + system) / 1000 }));
});
