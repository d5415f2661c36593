// A broker that is killed while an LwM2M device has its request, in memory, with a simulated clock. The datagrams of the killed broker are still in
// the network, or in the receive buffer of the device. By section F1 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoapDevice, CoapMessage } from './coap-device.ts'
import { Lwm2mStage } from './lwm2m-stage.ts'

const post = 2
const read = { reqID: 7, msgType: 'read', data: { path: '/3/0/0' } }

interface Killed {
  readonly unanswered: CoapMessage
  readonly second: Lwm2mStage
  readonly device: CoapDevice
  readonly location: string
}

/** The device has a request without a response when the broker is killed. The session delivers the command to the next broker again. */
function killed(query: string): Killed {
  const first = new Lwm2mStage()
  const location = first.registered(first.device(), `ep=dev&lt=600&lwm2m=1.0${query}`)
  first.command(read)
  const sent = first.device().takeLast() ?? assert.fail('the command was not sent')
  // Both brokers of the test have the same random numbers. Real ones rarely use one message ID.
  const unanswered = { ...sent, messageId: sent.messageId ^ 1 }
  const second = first.restarted()
  second.published()
  return { unanswered, second, device: second.device(), location }
}

describe('[F1] the response of a device to a request of the killed broker', () => {
  for (const query of ['', '&b=UQ']) {
    for (const how of ['in the acknowledgement', 'in a separate message'] as const) {
      test(`does not complete the command, and the response to the next request does (${how}, ep=dev${query})`, () => {
        const { unanswered, second, device, location } = killed(query)
        second.command(read)
        if (query !== '') device.request(post, `rd/${location}`, '', '')
        const again =
          device.all().find(({ path }) => path === '/3/0/0') ?? assert.fail('the command was not sent again')
        assert.notEqual(again.token, unanswered.token)
        const respond = (request: CoapMessage, payload: string): void => {
          if (how === 'in the acknowledgement') device.respond(request, '2.05', { format: 0, payload })
          else device.respondLater(request, '2.05', { format: 0, payload })
        }
        for (let copies = 0; copies < 3; copies++) respond(unanswered, 'before')
        const values = () =>
          second
            .published()
            .map(
              ({ document }) =>
                document as { reqID?: number; msgType: string; data: { content?: readonly { value: unknown }[] } },
            )
            .filter(({ reqID, msgType }) => reqID === 7 && msgType === 'read')
            .map(({ data }) => data.content?.[0]?.value)
        assert.deepEqual(values(), [], 'a response to another request')
        assert.deepEqual(second.acknowledged, [])
        respond(again, 'maker')
        assert.deepEqual(values(), ['maker'])
        assert.deepEqual(second.acknowledged, [1])
      })
    }
  }

  test('also if both requests have one message ID: the new request is sent under another', () => {
    const { unanswered, second, device } = killed('')
    second.command(read)
    const again = device.takeLast() ?? assert.fail()
    // The device regards it as a copy of the earlier one [RFC 7252 4.2].
    device.respond({ ...unanswered, messageId: again.messageId }, '2.05', { format: 0, payload: 'before' })
    const renumbered = device.takeLast() ?? assert.fail('the request is not sent again')
    assert.deepEqual([renumbered.path, renumbered.messageId === again.messageId], ['/3/0/0', false])
    device.respond(renumbered, '2.05', { format: 0, payload: 'maker' })
    assert.deepEqual(second.acknowledged, [1])
  })

  test('is not awaited: the request is sent again until the device responds to it', () => {
    const { unanswered, second, device } = killed('')
    second.command(read)
    const again = device.takeLast() ?? assert.fail()
    device.respond(unanswered, '2.05', { format: 0, payload: 'before' })
    // The first datagram of the new broker was lost.
    second.wait(3_000)
    const copy = device.all().find(({ path }) => path === '/3/0/0') ?? assert.fail('the request is not repeated')
    assert.deepEqual([copy.token, copy.messageId], [again.token, again.messageId])
    device.respond(copy, '2.05', { format: 0, payload: 'maker' })
    assert.deepEqual(second.acknowledged, [1])
  })
})
