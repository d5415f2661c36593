// Messages of a shared subscription whose member disconnects while members on other shards are denied: none of them is
// lost.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Rulebook } from '../denied-actions.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores, type SeveralCoresOptions } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const
/** With this, all messages but the first wait for an acknowledgement. */
const slow = { receiveMaximum: 1 } as const
const all = Array.from({ length: 12 }, (_, number) => `${number}`)

interface SharedStores {
  readonly cores: SeveralCores
  readonly rulebook: Rulebook
  readonly author: PacketClient
  member(shard: number, name: string, traits?: object): PacketClient
}

function members(options: SeveralCoresOptions = {}): SharedStores {
  const rulebook = new Rulebook()
  const cores = new SeveralCores({ permissions: rulebook, ...options })
  const author = cores.client(1, 'author')
  const member = (shard: number, name: string, traits = {}): PacketClient => {
    const client = cores.client(shard, name, traits)
    cores.settle()
    client.subscribe('$share/g/a')
    cores.settle()
    return client
  }
  return { cores, rulebook, author, member }
}

/** Denies these clients further messages. */
function deny({ cores, rulebook }: SharedStores, ...clients: readonly PacketClient[]): void {
  rulebook.rules = clients.map(({ id: clientId }) => ({ action: 'receive', clientId }))
  rulebook.epoch++
  for (const shard of [0, 1, 2]) cores.handle(shard, { kind: 'permissions-changed' })
  cores.settle()
}

function publishAll({ cores, author }: SharedStores): void {
  for (const payload of all) author.publish('a', payload, { qos: 1 })
  cores.settle()
  assert.equal(author.unfinishedCount, 0)
}

function reconnect({ cores }: SharedStores, client: PacketClient): void {
  client.acknowledges = true
  cores.connect(client)
  cores.settle()
}

const receivedBy = (...clients: readonly PacketClient[]): string[] =>
  [...new Set(clients.flatMap(({ payloads }) => payloads))].toSorted((a, b) => Number(a) - Number(b))

describe('QoS 1 of a shared subscription', () => {
  for (const [where, shards] of [
    ['one other shard', [2]],
    ['each other shard', [0, 2]],
    ['its own shard and another', [1, 2]],
  ] as const) {
    test(`stays with a disconnected member if the members on ${where} are denied`, () => {
      const stage = members()
      const one = stage.member(1, 'one', { ...stored, ...slow })
      one.acknowledges = false
      deny(stage, ...shards.map((shard) => stage.member(shard, `denied-${shard}-`, stored)))
      publishAll(stage)
      stage.cores.breakConnection(one)
      stage.cores.settle()
      reconnect(stage, one)
      assert.deepEqual(receivedBy(one), all)
    })
  }

  test('goes to an allowed member on another shard if the member on its own shard is denied', () => {
    const stage = members()
    const one = stage.member(1, 'one', { ...stored, ...slow })
    one.acknowledges = false
    deny(stage, stage.member(1, 'denied'))
    publishAll(stage)
    const heir = stage.member(2, 'heir')
    stage.cores.breakConnection(one)
    stage.cores.settle()
    assert.deepEqual(receivedBy(heir), all)
  })

  test('of a session that ends is counted as dropped if all other members are denied', () => {
    const stage = members()
    const one = stage.member(1, 'one', slow)
    one.acknowledges = false
    deny(stage, ...[0, 2].map((shard) => stage.member(shard, `denied-${shard}-`, stored)))
    publishAll(stage)
    stage.cores.breakConnection(one)
    stage.cores.settle()
    const dropped = stage.cores.cores.map((core) => core?.core.view.counts.dropped['session-ended'] ?? 0)
    assert.equal(
      dropped.reduce((sum, count) => sum + count, 0),
      all.length,
    )
  })

  test('that all members are denied is acknowledged to its publisher', () => {
    const stage = members()
    deny(stage, stage.member(2, 'denied', stored))
    publishAll(stage)
    assert.deepEqual(
      [...stage.author.acknowledged.values()],
      all.map(() => 0),
    )
  })

  test('stays with a disconnected member if the other shard is too far behind to take it', () => {
    const stage = members({ settings: { maxUnconfirmedMessages: 2 } })
    const one = stage.member(1, 'one', { ...stored, ...slow })
    one.acknowledges = false
    publishAll(stage)
    const other = stage.member(2, 'other')
    stage.cores.holdLink(1, 2)
    stage.cores.breakConnection(one)
    stage.cores.settle()
    stage.cores.releaseLink(1, 2)
    stage.cores.settle()
    assert.equal(other.payloads.length, 4)
    reconnect(stage, one)
    assert.deepEqual(receivedBy(one, other), all)
  })

  for (const shard of [1, 2]) {
    const where = shard === 1 ? 'the same shard' : 'another shard'
    test(`goes to an allowed member on ${where}, even a disconnected one, if its own member is denied now`, () => {
      const stage = members()
      const one = stage.member(1, 'one', { ...stored, ...slow })
      one.acknowledges = false
      publishAll(stage)
      const heir = stage.member(shard, 'heir', stored)
      stage.cores.breakConnection(heir)
      stage.cores.settle()
      deny(stage, one)
      stage.cores.breakConnection(one)
      stage.cores.settle()
      reconnect(stage, heir)
      assert.deepEqual(receivedBy(heir), all)
      reconnect(stage, one)
      assert.equal(one.payloads.length, 1)
    })
  }
})
