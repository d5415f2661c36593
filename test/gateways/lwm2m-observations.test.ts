// Observations of LwM2M devices in memory, with a simulated clock. By section F5 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findOwnerShard } from '../../src/gateways/index.ts'
import type { CoapMessage } from './coap-device.ts'
import { Lwm2mStage, withRequest } from './lwm2m-stage.ts'

const post = 2

/** A device that is observed before the broker restarts: its location, the request with the token, and the broker. */
function observingBefore(query: string): readonly [location: string, observe: CoapMessage, stage: Lwm2mStage] {
  const stage = new Lwm2mStage()
  const device = stage.device()
  const location = stage.registered(device, `ep=dev&lt=300${query}`)
  stage.command({ reqID: 1, msgType: 'observe', data: { path: '/3/0/9' } })
  const request = device.takeLast() ?? assert.fail()
  device.respond(request, '2.05', { format: 0, payload: '90', observe: 1 })
  return [location, request, stage]
}

/** The shard of the device, for a number of shards with which the token leads to another shard. */
function misroutingPlace(location: string, { token }: CoapMessage): { readonly own: number; readonly shards: number } {
  for (let shards = 2; ; shards++) {
    const own = findOwnerShard(location, { own: 0, shards })
    if (findOwnerShard(token, { own, shards }) !== own) return { own, shards }
  }
}

describe('[F5] observations', () => {
  test('are published as they arrive, and end with the same token', () => {
    const command = { reqID: 5, msgType: 'observe', data: { path: '/3/0/9' } }
    const [stage, device, request] = withRequest(command)
    assert.equal(request.observe, 0)
    device.respond(request, '2.05', { format: 0, payload: '90', observe: 1 })
    assert.equal(stage.published()[0]?.document['msgType'], 'observe')
    device.respondLater(request, '2.05', { format: 0, payload: '80', observe: 2 })
    assert.equal(device.takeLast()?.code, '0.00')
    const [notified] = stage.published()
    const data = { reqPath: '/3/0/9', code: '2.05', codeMsg: 'content', content: [{ path: '/3/0/9', value: 80 }] }
    const document = { reqID: 5, msgType: 'notify', seqNum: 2, data }
    assert.deepEqual(notified, { topic: 'lwm2m/dev/up/notify', document })
    stage.command({ reqID: 6, msgType: 'cancel-observe', data: { path: '/3/0/9' } }, 2)
    const cancel = device.takeLast()
    assert.ok(cancel !== undefined)
    assert.deepEqual([cancel.observe, cancel.token], [1, request.token])
    device.respond(cancel, '2.05', { format: 0, payload: '80' })
    stage.published()
    device.respondLater(request, '2.05', { format: 0, payload: '70', observe: 3 })
    assert.equal(device.takeLast()?.type, 'rst')
    assert.deepEqual(stage.published(), [])
  })

  test('continue after a change of the number of shards, with new tokens that lead to the shard of the device', () => {
    const [location, request, stage] = observingBefore('')
    const place = misroutingPlace(location, request)
    const restarted = stage.restarted(place)
    const device = restarted.device()
    const again = device.takeLast() ?? assert.fail('the observation does not begin again')
    assert.deepEqual([again.path, again.observe], ['/3/0/9', 0])
    assert.equal(findOwnerShard(again.token, place), place.own)
    device.respond(again, '2.05', { format: 0, payload: '90', observe: 1 })
    assert.equal(device.takeLast(), undefined, 'it begins once')
    restarted.published()
    device.respondLater(again, '2.05', { format: 0, payload: '80', observe: 2 })
    assert.deepEqual(
      restarted.published().map(({ document }) => [document['msgType'], document['seqNum']]),
      [['notify', 2]],
    )
    assert.equal(restarted.restarted().device().takeLast(), undefined, 'it continues after the next restart')
  })

  test('that an administrator ends after a change of the number of shards do not begin again', () => {
    const [location, request, stage] = observingBefore('&b=UQ')
    const restarted = stage.restarted(misroutingPlace(location, request))
    const device = restarted.device()
    restarted.command({ reqID: 2, msgType: 'cancel-observe', data: { path: '/3/0/9' } })
    assert.deepEqual(device.all(), [], 'the device sleeps')
    device.request(post, `rd/${location}`, '', '')
    const [updated, cancel] = device.all()
    assert.deepEqual([updated?.code, cancel?.observe], ['2.04', 1])
    device.respond(cancel ?? assert.fail(), '2.05', { format: 0, payload: '80' })
    assert.deepEqual(device.all(), [])
  })

  test('of all objects begin at registration if observesAll is set', () => {
    const stage = new Lwm2mStage({ observesAll: true })
    const device = stage.device()
    device.request(post, 'rd', 'ep=dev', '</1/0>,</3/0>')
    stage.acceptAll()
    const [created, first] = device.all()
    assert.deepEqual([created?.code, first?.path, first?.observe], ['2.01', '/1/0', 0])
  })
})

const valuesIn = (stage: Lwm2mStage): readonly unknown[] =>
  stage.published().map(({ document }) => {
    const { content } = document['data'] as { content: readonly { value: unknown }[] }
    return content[0]?.value
  })

describe('[F5] a notification', () => {
  const command = { reqID: 5, msgType: 'observe', data: { path: '/3/0/9' } }

  function observing(observe = 1): readonly [Lwm2mStage, ReturnType<Lwm2mStage['device']>, CoapMessage] {
    const [stage, device, request] = withRequest(command)
    device.respond(request, '2.05', { format: 0, payload: '90', observe })
    stage.published()
    return [stage, device, request]
  }

  test('in several blocks is published when all of them were read [RFC 7959 3.4]', () => {
    const [stage, device, request] = observing()
    const whole = '1'.repeat(100)
    device.respondLater(request, '2.05', { format: 0, observe: 2, payload: whole.slice(0, 64), block2: [0, true, 2] })
    assert.deepEqual(valuesIn(stage), [])
    const rest = device.all().find(({ code }) => code === '0.01') ?? assert.fail('the rest is not read')
    assert.deepEqual([rest.path, rest.observe, rest.block2], ['/3/0/9', undefined, [1, false, 2]])
    assert.notEqual(rest.token, request.token)
    device.respond(rest, '2.05', { format: 0, payload: whole.slice(64), block2: [1, false, 2] })
    const [published] = stage.published()
    assert.equal(published?.document['msgType'], 'notify')
    assert.equal(published?.document['seqNum'], 2)
    assert.equal(JSON.stringify(published?.document['data']).includes(whole), true)
  })

  test('of which a part is missing is not published', () => {
    const [stage, device, request] = observing()
    device.respondLater(request, '2.05', { format: 0, observe: 2, payload: '1'.repeat(64), block2: [0, true, 2] })
    const rest = device.all().find(({ code }) => code === '0.01') ?? assert.fail()
    device.respond(rest, '4.04')
    assert.deepEqual(stage.published(), [])
  })

  test('that is newer replaces one that is being read', () => {
    const [stage, device, request] = observing()
    device.respondLater(request, '2.05', { format: 0, observe: 2, payload: '1'.repeat(64), block2: [0, true, 2] })
    const rest = device.all().find(({ code }) => code === '0.01') ?? assert.fail()
    device.respondLater(request, '2.05', { format: 0, observe: 3, payload: '7' })
    device.respond(rest, '2.05', { format: 0, payload: '1', block2: [1, false, 2] })
    assert.deepEqual(valuesIn(stage), [7])
  })

  test('that is repeated or older than the newest is acknowledged, and not published [RFC 7641 3.4]', () => {
    for (const [sequence, expected] of [
      [
        [1, 2, 2, 3],
        [2, 3],
      ],
      [
        [1, 3, 2, 4],
        [3, 4],
      ],
      [
        [0xffffff, 0, 1, 0xffffff],
        [0, 1],
      ],
      [[5, 5, 4, 6], [6]],
    ] as const) {
      const [first, ...numbers] = sequence
      const [stage, device, request] = observing(first)
      for (const number of numbers) {
        device.respondLater(request, '2.05', { format: 0, observe: number, payload: String(number) })
        assert.equal(device.takeLast()?.type, 'ack')
      }
      assert.deepEqual(valuesIn(stage), expected, `after ${first}: ${numbers.join(', ')}`)
    }
  })

  test('with a lower number is published when more than 128 seconds have passed: the device has started again', () => {
    const [stage, device, request] = observing(900)
    stage.wait(129_000)
    device.respondLater(request, '2.05', { format: 0, observe: 1, payload: '1' })
    assert.deepEqual(valuesIn(stage), [1])
  })
})
