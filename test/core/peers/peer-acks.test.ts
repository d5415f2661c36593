// Confirmations of forwarded messages, and the messages that a shard holds until they are confirmed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PeerAcks } from '../../../src/core/state/peers/peer-acks.ts'
import { PeerOutbox } from '../../../src/core/state/peers/peer-outbox.ts'
import { CommitBarrier } from '../../../src/core/model/commit-barrier.ts'
import { reasonCodes } from '../../../src/protocol/index.ts'

test('the confirmation of a message that moved on waits for the next shard, and later confirmations do not', () => {
  const confirmations = new PeerAcks()
  const passedOn = new CommitBarrier()
  confirmations.recordHandled(1, { batch: 0, isAwaited: true, barrier: passedOn })
  confirmations.recordHandled(2, { batch: 7, isAwaited: true })
  assert.deepEqual(confirmations.take(), { kind: 'committed', upTo: 1, refused: undefined, uncommitted: [1] })
  confirmations.recordCommitted(7)
  assert.deepEqual(confirmations.take(), { kind: 'committed', upTo: 2, refused: undefined, uncommitted: [1] })
  assert.equal(confirmations.take(), undefined)
  confirmations.refuse(1, reasonCodes.quotaExceeded)
  assert.equal(confirmations.take(), undefined, 'it is reported only when complete')
  passedOn.arrive()
  assert.deepEqual(confirmations.take(), {
    kind: 'committed',
    upTo: 2,
    refused: [{ number: 1, reason: reasonCodes.quotaExceeded }],
    uncommitted: undefined,
  })
  assert.equal(confirmations.take(), undefined)
})

test('withheld messages are stored with the unconfirmed ones, and are sent first on a new link', () => {
  const outbox = new PeerOutbox()
  for (const packetId of [1, 2, 3]) outbox.push({ kind: 'release', publisher: 'p', packetId }, undefined)
  for (const number of [1, 2, 3]) outbox.takeUnsent(number)
  const packetIds = (upTo: number, uncommitted: number[] | undefined): number[] =>
    outbox
      .takeConfirmed({ upTo, uncommitted })
      .map(({ message }) => (message.kind === 'release' ? message.packetId : 0))
  assert.deepEqual(packetIds(2, [1]), [2])
  assert.equal(outbox.length, 2)
  outbox.restart()
  const sentAgain = [1, 2].map((number) => outbox.takeUnsent(number))
  assert.deepEqual(
    sentAgain.map((message) => (message?.kind === 'release' ? message.packetId : 0)),
    [1, 3],
  )
  assert.deepEqual(packetIds(2, [1]), [3])
  assert.deepEqual(packetIds(2, undefined), [1])
  assert.equal(outbox.length, 0)
})
