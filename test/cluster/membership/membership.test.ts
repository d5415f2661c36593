import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Instant, Membership, type MembershipOutput } from '../../../src/cluster/index.ts'
import { Reachability } from '../../../src/cluster/membership/reachability.ts'
import { buildNode, buildRows } from './membership-rows-builder.ts'

const server = { systemIdentifier: '7', timeline: 1 }

function at(ms: number): Instant {
  return { monotonicMs: 1_000 + ms, wallMs: 1_800_000_000_000 + ms }
}

function startMembership() {
  const membership = new Membership({
    life: 'life a',
    name: 'a',
    role: 'core',
    address: 'a:1',
    leaseMs: 5_000,
    isolationTimeoutMs: 15_000,
    maxClockSkewMs: 2_000,
  })
  membership.handle({ kind: 'tick' }, at(0))
  membership.handle({ kind: 'connected', attempt: 1, server }, at(10))
  return membership
}

function listKinds(outputs: readonly MembershipOutput[]): string[] {
  return outputs.map(({ kind }) => kind)
}

const rows = buildRows({ nodes: [buildNode('a')] })

void test('a lease counts from the sending of the transaction, however late its confirmation arrives', () => {
  const membership = startMembership()
  membership.handle({ kind: 'confirmed', attempt: 1, rows }, at(3_000))
  assert.deepEqual([membership.hasLease(at(5_009)), membership.hasLease(at(5_010))], [true, false])
})

void test('a confirmation that arrives after the time of its lease gives none', () => {
  const membership = startMembership()
  membership.handle({ kind: 'confirmed', attempt: 1, rows }, at(6_000))
  assert.equal(membership.hasLease(at(6_000)), false)
})

void test('a server with a lower timeline than another node uses is not used, and its confirmation does not count', () => {
  const membership = startMembership()
  membership.handle(
    { kind: 'confirmed', attempt: 1, rows: { ...rows, nodes: [buildNode('a'), buildNode('b')] } },
    at(20),
  )
  membership.handle({ kind: 'tick' }, at(1_100))
  membership.takeOutputs()
  const heartbeat = { life: 'life b', wallClockMs: at(1_200).wallMs, hasLease: true, version: 1, silenceMs: 0 }
  membership.handle({ kind: 'heartbeat', heartbeat: { ...heartbeat, server: { ...server, timeline: 2 } } }, at(1_200))
  assert.deepEqual(listKinds(membership.takeOutputs()), ['disconnect'])
  membership.handle({ kind: 'confirmed', attempt: 1, rows }, at(1_300))
  assert.equal(membership.hasLease(at(5_100)), false)
  membership.handle({ kind: 'tick' }, at(2_000))
  membership.handle({ kind: 'connected', attempt: 2, server }, at(2_010))
  assert.deepEqual(listKinds(membership.takeOutputs()), ['connect', 'disconnect'])
})

void test('a life that has ended stops at once', () => {
  const membership = startMembership()
  membership.handle({ kind: 'confirmed', attempt: 1, rows }, at(20))
  membership.takeOutputs()
  membership.handle({ kind: 'tick' }, at(1_100))
  membership.handle(
    { kind: 'confirmed', attempt: 1, rows: buildRows({ nodes: [buildNode('a', { isEnded: true })] }) },
    at(1_120),
  )
  assert.deepEqual(membership.takeOutputs().at(-1), {
    kind: 'own-life-ended',
    reason: 'another node has ended this life, because its lease was over',
  })
  assert.equal(membership.hasLease(at(1_120)), false)
})

void test('a node that was paused does not take its own silence for that of the others', () => {
  const reach = new Reachability(5_000)
  reach.expect(['b'], 0)
  assert.deepEqual(reach.listUnreached(5_000), ['b'])
  reach.restart(20_000)
  const heartbeat = { life: 'b', wallClockMs: 0, hasLease: true, server, version: 1 }
  reach.receive({ ...heartbeat, silenceMs: 19_000 }, at(19_000))
  assert.deepEqual(reach.listUnreached(20_100), [], 'the other node missed this one because of the pause')
})

void test('a member that does not receive this node is not reached, although its heartbeats arrive', () => {
  const reach = new Reachability(5_000)
  reach.expect(['b'], 0)
  const heartbeat = { life: 'b', wallClockMs: 0, hasLease: true, server, version: 1 }
  reach.receive({ ...heartbeat, silenceMs: 4_900 }, at(6_000))
  assert.deepEqual(reach.listUnreached(7_000), [])
  reach.receive({ ...heartbeat, silenceMs: 5_000 }, at(6_100))
  assert.deepEqual(reach.listUnreached(7_100), ['b'])
})
