import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { linkPortOver } from '../../src/links/index.ts'

test('an end that is closed reports so once, also if the other one closed before a handler was set', async () => {
  const { port1, port2 } = new MessageChannel()
  port2.close()
  await once(port1, 'close')

  const end = linkPortOver(port1)
  let closed = 0
  await new Promise<void>((resolve) => {
    end.onClose = () => {
      closed++
      resolve()
    }
    end.close()
  })
  end.close()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(closed, 1)
})

test('both ends hear once that one of them was closed', async () => {
  const { port1, port2 } = new MessageChannel()
  const ends = [linkPortOver(port1), linkPortOver(port2)]
  const closed = [0, 0]
  const both = ends.map(
    (end, index) =>
      new Promise<void>((resolve) => {
        end.onClose = () => {
          closed[index]++
          resolve()
        }
      }),
  )
  ends[0].close()
  await Promise.all(both)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(closed, [1, 1])
})
