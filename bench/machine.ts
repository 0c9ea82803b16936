import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg } from 'node:os';

const ROOT = new URL('..', import.meta.url);

/** The date, commit and machine of figures that vary with the machine. */
export function describeMachine(): string {
  const date = new Date().toISOString().slice(0, 10);
  const [busy = 0] = loadavg();
  return (
    `Taken on ${date} at commit ${commit()}: Node ${process.versions.node}, ${process.platform} ` +
    `${process.arch}, ${availableParallelism()} CPUs (${cpus()[0]?.model.trim() ?? 'unknown'}), ` +
    `load of the last minute at the end ${busy.toFixed(1)}.`
  );
}

function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', 'src', 'dist') === '' ? '' : ', changed';
  return git('rev-parse', '--short', 'HEAD') + changed;
}
