// Notices of the store owner to the store clients, without their threads.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { type StoreConnection, openStoreOwner, type StoreNotice, type StoreOwner } from '../../src/storage/index.ts'

class Member {
  readonly received: StoreNotice['kind'][] = []
  readonly client: StoreConnection
  #wake = (): void => {}

  constructor(owner: StoreOwner) {
    this.client = owner.connectClient(({ kind }) => {
      this.received.push(kind)
      if (kind === 'recalled') {
        this.client.handleRequest({ kind: 'left', isIntact: true })
        this.client.handleRequest({ kind: 'enter', suspectedDamage: undefined })
      }
      this.#wake()
    })
  }

  async receives(...expected: StoreNotice['kind'][]): Promise<void> {
    while (this.received.length < expected.length) await new Promise<void>((resolve) => (this.#wake = resolve))
    assert.deepEqual(this.received.splice(0), expected)
  }
}

async function openOwner(t: TestContext): Promise<{ owner: StoreOwner; breakDisk: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-storage-'))
  const directory = join(folder, 'store')
  const owner = await openStoreOwner({ directory, shards: 3, recoveredExpirySeconds: 3_600, onAlarm: () => {} })
  t.after(async () => {
    await owner.close()
    rmSync(folder, { recursive: true, force: true })
  })
  // The probe is written to a path that does not exist; a failed check removes the link.
  return { owner, breakDisk: () => symlinkSync(join(folder, 'nowhere', 'probe'), `${directory}.probe`) }
}

test('a failing disk is reported to all shards at once, whichever shard has noticed it, and so is its recovery', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { owner, breakDisk } = await openOwner(t)
  const [writer, idle] = [new Member(owner), new Member(owner)]
  for (const { client } of [writer, idle]) client.handleRequest({ kind: 'enter', suspectedDamage: undefined })
  await writer.receives('granted')
  await idle.receives('granted')

  breakDisk()
  writer.client.handleRequest({ kind: 'renew', suspectedDamage: undefined })
  await idle.receives('ailing')
  await writer.receives('ailing', 'failing')

  const late = new Member(owner)
  late.client.handleRequest({ kind: 'enter', suspectedDamage: undefined })
  await late.receives('ailing', 'granted')

  // The client that reported the failure has closed: it gets no further notice.
  writer.client.handleDisconnect()
  breakDisk()
  t.mock.timers.tick(1_000)
  while (idle.received.length === 0) {
    t.mock.timers.tick(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await idle.receives('recalled', 'serving', 'granted')
  await late.receives('recalled', 'serving', 'granted')
})
