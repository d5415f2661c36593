import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { createLinkPort } from '../../src/links/index.ts'

test('a closed end reports the close once, also if the other end closed before the handler was set', async () => {
  const { port1, port2 } = new MessageChannel()
  port2.close()
  await once(port1, 'close')

  const end = createLinkPort(port1)
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

test('both ends report once that one of them was closed', async () => {
  const { port1, port2 } = new MessageChannel()
  const ends = [createLinkPort(port1), createLinkPort(port2)]
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

test('buffers that arrive before the handler is set are passed to it later', async () => {
  const { port1, port2 } = new MessageChannel()
  const [here, there] = [createLinkPort(port1), createLinkPort(port2)]
  there.send(new ArrayBuffer(1))
  there.send(new ArrayBuffer(2))
  // A shard closes an earlier link first.
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
  const sizes: number[] = []
  await new Promise<void>((resolve) => {
    here.onBuffer = ({ byteLength }) => {
      sizes.push(byteLength)
      if (byteLength === 2) resolve()
    }
  })
  assert.deepEqual(sizes, [1, 2])
  here.close()
})
