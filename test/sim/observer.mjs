// A preload that writes at the exit which modules were loaded and which resources are active.

import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const loaded = new Set();
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    loaded.add(resolved.url);
    return resolved;
  },
});
process.on('exit', () => {
  const active = process.getActiveResourcesInfo();
  writeFileSync(process.env.OBSERVER_FILE, JSON.stringify({ loaded: [...loaded], active }));
});
