import type { JobScript } from '../agent.ts';
import { schedule } from '../events.ts';
import { example, idleJob, linkTo, REPOSITORY, type Scenario, turn } from './scenario.ts';

const JOBS: readonly JobScript[] = [
  { id: 'job_install', base: idleJob(51, 'failed'), turns: [turn(5000, 130_000)] },
  {
    id: 'job_quickstart',
    base: idleJob(null, 'failed'),
    turns: [turn(5000, 260_000, { prLink: linkTo(56) })],
  },
  {
    id: 'job_webhooks',
    base: idleJob(52, 'failed'),
    turns: [turn(5000, 190_000, { status: 'failed' })],
  },
  { id: 'job_billing', base: idleJob(53, 'active') },
  { id: 'job_glossary', base: idleJob(54) },
  { id: 'job_sdk', base: idleJob(55, 'failed'), turns: [turn(5000, 420_000)] },
];

export const scenario: Scenario = {
  title: 'Every night',
  agent: { jobs: JOBS },
  github: {
    issues: [51, 52, 53, 54, 55, 56].map((number) => ({ number, pullRequest: true })),
    collaborators: {},
  },
  pace: 60,
  vars: { AGENT_JOBS: JOBS.map(({ id }) => id).join(',') },
  runs: [
    {
      title: 'The workflow of the README',
      about: 'One step sends the message to the failed jobs of a list, and waits.',
      trigger: { kind: 'event', event: schedule({ repository: REPOSITORY }) },
      ...example('every-night'),
    },
  ],
};
