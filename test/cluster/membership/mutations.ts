// Mechanisms of the membership that are taken out, and the oracle that finds it. A mutation is a text that is replaced in a copy of the state
// machine, or a condition that the simulated database leaves out.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { OracleName } from './membership-oracles.ts'
import type { OmittedCondition, StateMachine } from './membership-world.ts'

export interface Mutation {
  readonly title: string
  readonly oracle: OracleName
  /** The first seed that finds it. */
  readonly seed: number
  readonly file?: string
  readonly from?: string
  readonly to?: string
  readonly omits?: OmittedCondition
}

const sources = fileURLToPath(new URL('../../../src/cluster/', import.meta.url))

export const mutations: readonly Mutation[] = [
  {
    title: 'a lease does not end by the wall clock',
    oracle: 'no life ends under its lease',
    seed: 78,
    file: 'lease.ts',
    from: ' && wallMs < lease.wallUntilMs',
    to: '',
  },
  {
    title: 'a lease ends by the wall clock only',
    oracle: 'no life ends under its lease',
    seed: 244,
    file: 'lease.ts',
    from: 'monotonicMs < lease.monotonicUntilMs && ',
    to: '',
  },
  {
    title: 'a life ends after two seconds without a beat',
    oracle: 'no life ends under its lease',
    seed: 1,
    file: 'plan-transaction.ts',
    from: 'if (silenceMs >= limitMs)',
    to: 'if (silenceMs >= 2_000)',
  },
  {
    title: 'a node ends lives as soon as the database is back',
    oracle: 'no life ends while the database is away',
    seed: 28,
    file: 'plan-transaction.ts',
    from: ' || runMs < Math.max(limitMs, options.leaseMs + endMarginMs)) return []',
    to: ') return []',
  },
  {
    title: 'a beat of another life is not observed',
    oracle: 'healthy lives do not end',
    seed: 5,
    file: 'life-observations.ts',
    from: '?.beats !== beats',
    to: ' === undefined',
  },
  {
    title: 'a member counts as not reached after 300 ms',
    oracle: 'reachable lives are not refused',
    seed: 1,
    file: 'membership-state.ts',
    from: 'const unreachedMs = 5_000',
    to: 'const unreachedMs = 300',
  },
  {
    title: 'clients are disconnected although no other node has a lease',
    oracle: 'clients stay',
    seed: 5,
    file: 'membership.ts',
    from: 'if (!state.reach.isLeaseHeldByOther(now.monotonicMs)) return',
    to: '',
  },
  {
    title: 'a stopped shard is not released',
    oracle: 'each shard finds a home',
    seed: 1,
    file: 'home-table.ts',
    from: "if (home.state === 'stopped') return [{ kind: 'release', shard, epoch }]",
    to: "if (home.state === 'stopped') return []",
  },
  {
    title: 'a home acknowledges without a lease',
    oracle: 'no life ends under its lease',
    seed: 1,
    file: 'lease.ts',
    from: 'return monotonicMs < lease.monotonicUntilMs && wallMs >= lease.wallFromMs && wallMs < lease.wallUntilMs',
    to: 'return monotonicMs < Infinity || wallMs < 0',
  },
  { title: 'a new home has the epoch of the former one', oracle: 'one home writes', seed: 1, omits: 'greater epoch' },
  { title: 'a warning confirms', oracle: 'acknowledged commits stay', seed: 22, omits: 'warning is unknown' },
]

/** Returns the state machine that the nodes of a scenario run; undefined: the product's. */
export async function importMutant({ file, from = '', to = '' }: Mutation): Promise<StateMachine | undefined> {
  if (file === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'godwit-mutant-'))
  try {
    cpSync(sources, folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const path = join(folder, 'membership', file)
    const text = readFileSync(path, 'utf8')
    assert.equal(text.split(from).length, 2, `${file} has the text once: ${from}`)
    writeFileSync(path, text.replace(from, to))
    const load = (name: string): Promise<unknown> => import(pathToFileURL(join(folder, 'membership', name)).href)
    const [{ Membership }, { isLeaseHeld }] = (await Promise.all([load('membership.ts'), load('lease.ts')])) as [
      Pick<StateMachine, 'Membership'>,
      Pick<StateMachine, 'isLeaseHeld'>,
    ]
    return { Membership, isLeaseHeld }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
