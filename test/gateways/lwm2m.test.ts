// The LwM2M gateway in memory, with a simulated clock. By section F5 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PublishPacket, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import type { CoapMessage } from './coap-device.ts'
import { Lwm2mStage, withRequest } from './lwm2m-stage.ts'

const topics = new TopicTable(16)
const post = 2
const remove = 4

describe('[F5] registration', () => {
  test('is published with all the parameters of the device', () => {
    const stage = new Lwm2mStage()
    stage.registered(stage.device(), 'ep=dev&lt=300&lwm2m=1.1&b=U', '</lwm2m>;rt="oma.lwm2m",</lwm2m/1/0>,</lwm2m/3>')
    const objectList = ['/1/0', '/3']
    const data = { ep: 'dev', lt: 300, lwm2m: '1.1', b: 'U', alternatePath: '/lwm2m', objectList }
    assert.deepEqual(stage.published(), [{ topic: 'lwm2m/dev/up/resp', document: { msgType: 'register', data } }])
    const [subscribe] = stage.connections[0]?.packets ?? []
    assert.ok(subscribe?.type === 'subscribe')
    assert.equal(subscribe.subscriptions[0]?.filter, 'lwm2m/dev/dn/#')
  })

  test('connects with the endpoint name, imei, password and device_id', () => {
    const stage = new Lwm2mStage()
    stage.device().request(post, 'rd', 'ep=dev&imei=u&password=p&device_id=c&lt=60', '</3/0>')
    const [connect] = stage.connections[0]?.packets ?? []
    assert.ok(connect?.type === 'connect')
    assert.deepEqual(
      [connect.clientId, connect.username, connect.password?.toString(), connect.keepAliveSeconds, connect.cleanStart],
      ['c', 'u', 'p', 60, false],
    )
  })

  for (const [query, body, code] of [
    ['lt=300', '</3/0>', '4.00'],
    ['ep=&lt=300', '</3/0>', '4.00'],
    ['ep=dev&lt=abc', '</3/0>', '4.00'],
    ['ep=dev&lt=300', '3/0', '4.00'],
    ['ep=dev&lt=300&lwm2m=2.0', '</3/0>', '4.12'],
    ['ep=a/%2B/+', '</3/0>', '4.00'],
  ] as const) {
    test(`with ${query} and ${body} is refused with ${code}`, () => {
      const stage = new Lwm2mStage()
      const device = stage.device()
      device.request(post, 'rd', query, body)
      assert.equal(device.takeLast()?.code, code)
      assert.equal(stage.connections.length, 0)
    })
  }

  for (const [query, taken] of [
    ['lt=1', 15],
    ['lt=999999', 86_400],
    ['lwm2m=1', 86_400],
  ] as const) {
    test(`with ${query} has a lifetime of ${taken} s, and ends with it`, () => {
      const stage = new Lwm2mStage()
      stage.registered(stage.device(), `ep=dev&${query}`)
      assert.equal(stage.publishedData()['lt'], taken)
      stage.wait(taken * 1_000 - 1)
      assert.equal(stage.gateway.clients, 1)
      stage.wait(1)
      assert.equal(stage.gateway.clients, 0)
    })
  }

  for (const version of ['1', '1.0', '1.1']) {
    test(`with the version ${version} is published with it`, () => {
      const stage = new Lwm2mStage()
      stage.registered(stage.device(), `ep=dev&lt=300&lwm2m=${version}`)
      assert.equal(stage.publishedData()['lwm2m'], version)
    })
  }

  test('that the broker refuses gets 4.01, and bootstrap gets 4.04', () => {
    const stage = new Lwm2mStage()
    const device = stage.device()
    device.request(post, 'rd', 'ep=dev', '</3/0>')
    const refused = { type: 'connack', sessionPresent: false, reasonCode: 0x86, properties: undefined } as const
    stage.connections[0]?.callbacks.handlePacket(refused)
    assert.equal(device.takeLast()?.code, '4.01')
    device.request(post, 'bs', 'ep=dev', '')
    assert.equal(device.takeLast()?.code, '4.04')
    assert.equal(stage.gateway.clients, 0)
  })

  test('is updated, also from another port, and extended; the list of objects is published', () => {
    const stage = new Lwm2mStage()
    const location = stage.registered(stage.device())
    stage.published()
    const moved = stage.device(6_000)
    stage.wait(299_000)
    moved.request(post, `rd/${location}`, 'lt=600', '')
    assert.equal(moved.takeLast()?.code, '2.04')
    assert.deepEqual(stage.published(), [])
    moved.request(post, `rd/${location}`, '', '</3/0>,</5/0>')
    assert.equal(moved.takeLast()?.code, '2.04')
    const [update] = stage.published()
    assert.equal(update?.topic, 'lwm2m/dev/up/update')
    assert.deepEqual((update.document['data'] as Record<string, unknown>)['objectList'], ['/3/0', '/5/0'])
    stage.wait(599_999)
    assert.equal(stage.gateway.clients, 1)
    stage.command({ reqID: 1, msgType: 'read', data: { path: '/3/0/0' } })
    assert.equal(moved.takeLast()?.code, '0.01', 'the command goes to the new port')
    moved.request(post, 'rd/unknown', '', '')
    assert.equal(moved.takeLast()?.code, '4.04')
  })

  test('ends with DELETE; a new one of the same device replaces it', () => {
    const stage = new Lwm2mStage()
    const device = stage.device()
    const first = stage.registered(device)
    const second = stage.registered(stage.device(6_000))
    assert.equal(stage.gateway.clients, 1)
    device.request(remove, `rd/${first}`, '', '')
    assert.equal(device.takeLast()?.code, '4.04')
    device.request(remove, `rd/${second}`, '', '')
    assert.equal(device.takeLast()?.code, '2.02')
    assert.equal(stage.gateway.clients, 0)
  })
})

describe('[F5] a command', () => {
  test('read sends a request to the device, and its response has the members of the command', () => {
    const [stage, device, request] = withRequest({ reqID: 7, msgType: 'read', extra: 'x', data: { path: '/3/0/9' } })
    assert.deepEqual([request.code, request.path, request.query], ['0.01', '/3/0/9', ''])
    device.respond(request, '2.05', { format: 0, payload: '95' })
    const data = { reqPath: '/3/0/9', code: '2.05', codeMsg: 'content', content: [{ path: '/3/0/9', value: 95 }] }
    const document = { reqID: 7, msgType: 'read', extra: 'x', data }
    assert.deepEqual(stage.published(), [{ topic: 'lwm2m/dev/up/resp', document }])
    assert.deepEqual(stage.acknowledged, [1])
  })

  test('read of an instance decodes TLV by the definitions of objects', () => {
    const [stage, device, request] = withRequest({ reqID: 1, msgType: 'read', data: { path: '/3/0' } })
    // From the example of LwM2M 1.0, table 24, shortened.
    const payload = Buffer.from(
      'c800144f70656e204d6f62696c6520416c6c69616e6365' +
        '860641000141010588070842000ed842011388' +
        'c10964' +
        'c40d5182428f',
      'hex',
    )
    device.respond(request, '2.05', { format: 11_542, payload })
    const content = [
      { path: '/3/0/0', value: 'Open Mobile Alliance' },
      { path: '/3/0/6/0', value: 1 },
      { path: '/3/0/6/1', value: 5 },
      { path: '/3/0/7/0', value: 3_800 },
      { path: '/3/0/7/1', value: 5_000 },
      { path: '/3/0/9', value: 100 },
      { path: '/3/0/13', value: 1_367_491_215 },
    ]
    assert.deepEqual(stage.publishedData()['content'], content)
  })

  for (const [name, format, payload, content] of [
    [
      'SenML JSON',
      110,
      '[{"bn":"/3/0/","n":"0","vs":"maker"},{"n":"9","v":95},{"n":"6/0","v":1}]',
      ['/3/0/0 maker', '/3/0/9 95', '/3/0/6/0 1'],
    ],
    [
      'JSON of 1.0',
      11_543,
      '{"bn":"/3/0/","e":[{"n":"0","sv":"maker"},{"n":"9","v":95}]}',
      ['/3/0/0 maker', '/3/0/9 95'],
    ],
    [
      'SenML CBOR',
      112,
      Buffer.from('82a321652f332f302f006130036161a2006139021a0000005f', 'hex'),
      ['/3/0/0 a', '/3/0/9 95'],
    ],
    ['broken JSON', 110, '[{', ['/3/0 W3s=']],
    ['an unknown format', 4_711, 'plain', ['/3/0 plain']],
  ] as const) {
    test(`a response with ${name} is published as values`, () => {
      const [stage, device, request] = withRequest({ reqID: 1, msgType: 'read', data: { path: '/3/0' } })
      device.respond(request, '2.05', { format, payload })
      const values = stage.publishedData()['content'] as readonly { readonly path: string; readonly value: unknown }[]
      assert.deepEqual(
        values.map(({ path, value }) => `${path} ${String(value)}`),
        content,
      )
    })
  }

  for (const [name, command, expected] of [
    ['discover', { msgType: 'discover', data: { path: '/3/0' } }, '0.01 /3/0  accept=40 '],
    ['delete', { msgType: 'delete', data: { path: '/3/1' } }, '0.04 /3/1   '],
    ['execute', { msgType: 'execute', data: { path: '/3/0/4', args: "2='a'" } }, '0.02 /3/0/4  format=0 323d276127'],
    ['execute without arguments', { msgType: 'execute', data: { path: '/3/0/4' } }, '0.02 /3/0/4   '],
    [
      'write-attr',
      { msgType: 'write-attr', data: { path: '/3/0/9', pmin: '1', pmax: 10 } },
      '0.03 /3/0/9 pmin=1&pmax=10  ',
    ],
    [
      'write',
      { msgType: 'write', data: { path: '/3/0/13', type: 'Integer', value: '12345' } },
      '0.03 /3/0/13  format=11542 c20d3039',
    ],
    [
      'write of a string',
      { msgType: 'write', data: { path: '/3/0/14', type: 'String', value: '+01:00' } },
      '0.03 /3/0/14  format=11542 c60e2b30313a3030',
    ],
    [
      'write of an instance',
      {
        msgType: 'write',
        data: {
          basePath: '/3/0',
          content: [
            { path: '14', type: 'String', value: 'x' },
            { path: '/3/0/13', type: 'Time', value: 1 },
          ],
        },
      },
      '0.02 /3/0  format=11542 c10e78c10d01',
    ],
    [
      'create',
      { msgType: 'create', data: { basePath: '/5', content: [{ path: '/5/0/1', type: 'String', value: 'u' }] } },
      '0.02 /5  format=11542 0300c10175',
    ],
    [
      'create with relative paths',
      { msgType: 'create', data: { basePath: '/5', content: [{ path: '/0/1', type: 'String', value: 'u' }] } },
      '0.02 /5  format=11542 0300c10175',
    ],
    [
      'write with a relative path that begins with a slash',
      { msgType: 'write', data: { basePath: '/3/0/', content: [{ path: '/14', type: 'String', value: 'x' }] } },
      '0.02 /3/0  format=11542 c10e78',
    ],
    [
      'create without resources',
      { msgType: 'create', data: { basePath: '/5', content: [] } },
      '0.02 /5  format=11542 ',
    ],
    ['read with a query', { msgType: 'read', data: { path: '/3/0?a=1&b' } }, '0.01 /3/0 a=1&b  '],
  ] as const) {
    test(`${name} is converted to its request`, () => {
      const [, , request] = withRequest({ reqID: 1, ...command })
      const accept = request.accept === undefined ? '' : `accept=${request.accept}`
      const format = request.format === undefined ? '' : `format=${request.format}`
      const text = [request.code, request.path, request.query, accept + format, request.payload.toString('hex')].join(
        ' ',
      )
      assert.equal(text, expected)
    })
  }

  for (const command of [
    'no JSON',
    '[]',
    '{"msgType":"read"}',
    '{"msgType":"read","data":{"path":"3/0"}}',
    '{"msgType":"read","data":{"path":"/a"}}',
    '{"msgType":"sing","data":{"path":"/3"}}',
    '{"msgType":"write","data":{"path":"/3/0/9","type":"Integer","value":"x"}}',
    '{"msgType":"write","data":{"basePath":"/3/0","content":[{"path":"/4/0/1","type":"Integer","value":1}]}}',
  ]) {
    test(`${command} is dropped, counted and acknowledged`, () => {
      const stage = new Lwm2mStage()
      const device = stage.device()
      stage.registered(device)
      const payload = Buffer.from(command)
      const packet = new PublishPacket(
        topics.internName('a' as TopicName),
        { qos: 1, retain: false, dup: false },
        payload,
      )
      packet.packetId = 9
      packet.frameEnd = payload.length
      stage.connections.at(-1)?.callbacks.handlePacket(packet)
      assert.equal(device.takeLast(), undefined)
      assert.equal(stage.dependencies.counters.dropped.malformed, 1)
      assert.deepEqual(stage.acknowledged, [9])
    })
  }

  test('that the device refuses is published with its code', () => {
    const [stage, device, request] = withRequest({ reqID: 1, msgType: 'read', data: { path: '/3/0/99' } })
    device.respond(request, '4.04')
    const data = { reqPath: '/3/0/99', code: '4.04', codeMsg: 'not_found' }
    assert.deepEqual(stage.published()[0]?.document, { reqID: 1, msgType: 'read', data })
  })

  test('that gets a separate response is acknowledged first', () => {
    const command = { reqID: 1, msgType: 'read', data: { path: '/3/0/9' } }
    const [stage, device, request] = withRequest(command)
    device.acknowledge(request)
    assert.deepEqual(stage.published()[0]?.document, { ...command, msgType: 'ack' })
    device.respondLater(request, '2.05', { format: 0, payload: '1' })
    assert.equal(device.takeLast()?.code, '0.00', 'the response is acknowledged')
    assert.equal(stage.publishedData()['code'], '2.05')
  })

  test('without a response is sent five times, then coap_timeout is published; after a reset, coap_reset', () => {
    const command = { reqID: 1, msgType: 'read', data: { path: '/3/0/9' } }
    const [stage, device] = withRequest(command)
    let sent = 1
    for (let seconds = 0; seconds < 100; seconds++) {
      stage.wait(1_000)
      if (device.takeLast() !== undefined) sent++
    }
    assert.equal(sent, 5)
    assert.deepEqual(stage.published()[0]?.document, { ...command, msgType: 'coap_timeout' })
    stage.command(command, 2)
    const again = device.takeLast()
    assert.ok(again !== undefined)
    device.reset(again)
    assert.deepEqual(stage.published()[0]?.document, { ...command, msgType: 'coap_reset' })
    assert.deepEqual(stage.acknowledged, [1, 2])
  })

  test('with a message ID that the device remembers is sent again with another one', () => {
    const [stage, device, request] = withRequest({ reqID: 1, msgType: 'read', data: { path: '/3/0/9' } })
    device.respond({ ...request, token: 'ffff' }, '2.05', { format: 0, payload: 'of another request' })
    const again = device.takeLast()
    assert.ok(again !== undefined)
    assert.equal(again.path, '/3/0/9')
    assert.notEqual(again.messageId, request.messageId)
    assert.deepEqual(stage.published(), [])
    device.respond(again, '2.05', { format: 0, payload: '1' })
    assert.equal(stage.publishedData()['code'], '2.05')
  })

  test('that only gets responses with other tokens ends with coap_timeout', () => {
    const command = { reqID: 1, msgType: 'read', data: { path: '/3/0/9' } }
    const [stage, device, request] = withRequest(command)
    let next: CoapMessage | undefined = request
    let sent = 0
    for (; next !== undefined; sent++, next = device.takeLast()) device.respond({ ...next, token: 'ffff' }, '2.05')
    assert.equal(sent, 4)
    assert.deepEqual(stage.published()[0]?.document, { ...command, msgType: 'coap_timeout' })
  })

  test('waits until the previous one is complete', () => {
    const [stage, device, first] = withRequest({ reqID: 1, msgType: 'read', data: { path: '/3/0/1' } })
    stage.command({ reqID: 2, msgType: 'read', data: { path: '/3/0/2' } }, 2)
    assert.equal(device.takeLast(), undefined)
    device.respond(first, '2.05', { format: 0, payload: 'a' })
    assert.equal(device.takeLast()?.path, '/3/0/2')
  })

  test('whose response arrives in blocks is published whole, and a large command is sent in blocks', () => {
    const [stage, device, first] = withRequest({ reqID: 1, msgType: 'read', data: { path: '/3/0/0' } })
    device.respond(first, '2.05', { format: 0, payload: 'a'.repeat(64), block2: [0, true, 2] })
    const second = device.takeLast()
    assert.ok(second !== undefined)
    assert.deepEqual(second.block2, [1, false, 2])
    device.respond(second, '2.05', { format: 0, payload: 'b', block2: [1, false, 2] })
    const content = stage.publishedData()['content'] as readonly { readonly value: string }[]
    assert.equal(content[0]?.value, `${'a'.repeat(64)}b`)

    const value = 'x'.repeat(1_500)
    stage.command({ reqID: 2, msgType: 'write', data: { path: '/5/0/1', type: 'String', value } }, 2)
    const begin = device.takeLast()
    assert.ok(begin !== undefined)
    assert.deepEqual([begin.block1, begin.payload.length], [[0, true, 6], 1_024])
    device.respond(begin, '2.31', { block1: [0, true, 6] })
    const rest = device.takeLast()
    assert.ok(rest !== undefined)
    assert.deepEqual([rest.block1, begin.payload.length + rest.payload.length], [[1, false, 6], 1_504])
    device.respond(rest, '2.04', { block1: [1, false, 6] })
    assert.equal(stage.publishedData()['code'], '2.04')
  })
})

describe('[F5] queue mode', () => {
  test('holds commands while the device sleeps, sends them in order when it wakes up, and drops expired ones', () => {
    const stage = new Lwm2mStage()
    const device = stage.device()
    const location = stage.registered(device, 'ep=dev&lt=86400&b=UQ')
    stage.wait(22_000)
    stage.command({ reqID: 1, msgType: 'read', data: { path: '/3/0/1' } }, 1, 60)
    stage.command({ reqID: 2, msgType: 'read', data: { path: '/3/0/2' } }, 2)
    stage.command({ reqID: 3, msgType: 'read', data: { path: '/3/0/3' } }, 3)
    assert.equal(device.takeLast(), undefined)
    stage.wait(60_000)
    device.request(post, `rd/${location}`, '', '')
    const [updated, second] = device.all()
    assert.deepEqual([updated?.code, second?.path], ['2.04', '/3/0/2'])
    assert.ok(second !== undefined)
    device.respond(second, '2.05', { format: 0, payload: 'a' })
    assert.equal(device.takeLast()?.path, '/3/0/3')
    assert.deepEqual(
      stage.acknowledged,
      [1, 2],
      'a command that was never sent is acknowledged only when it is dropped',
    )
  })

  test('stores a command without a response until the device wakes up', () => {
    const stage = new Lwm2mStage()
    const device = stage.device()
    const location = stage.registered(device, 'ep=dev&lt=86400&b=UQ')
    stage.command({ reqID: 1, msgType: 'read', data: { path: '/3/0/1' } }, 1)
    stage.wait(1_000)
    for (let seconds = 0; seconds < 100; seconds++) stage.wait(1_000)
    device.all()
    assert.deepEqual(stage.acknowledged, [])
    device.request(post, `rd/${location}`, '', '')
    const [, again] = device.all()
    assert.equal(again?.path, '/3/0/1')
  })

  test('stores commands of QoS 0 over a restart and until the next registration, in order, until they are executed', () => {
    const first = new Lwm2mStage()
    const location = first.registered(first.device(), 'ep=dev&lt=86400&b=UQ')
    first.wait(22_000)
    for (const reqID of [1, 2]) first.command({ reqID, msgType: 'read', data: { path: `/3/0/${reqID}` } }, 0, 3_600, 0)
    first.command({ reqID: 3, msgType: 'read', data: { path: '/3/0/3' } }, 0, 60, 0)
    const second = first.restarted()
    second.wait(60_000)
    const device = second.device()
    device.request(post, `rd/${location}`, '', '')
    const [updated, request] = device.all()
    assert.deepEqual([updated?.code, request?.path], ['2.04', '/3/0/1'])
    device.respond(request ?? assert.fail(), '2.05', { format: 0, payload: 'a' })
    // The device loses its state, and registers again before it has responded.
    assert.equal(device.takeLast()?.path, '/3/0/2')
    second.wait(100_000)
    const third = second.restarted()
    const again = third.device()
    again.request(post, 'rd', 'ep=dev&lt=86400&b=UQ', '</3/0>')
    third.acceptAll()
    const [registered, repeated] = again.all()
    assert.deepEqual([registered?.code, repeated?.path], ['2.01', '/3/0/2'])
    again.respond(repeated ?? assert.fail(), '2.05', { format: 0, payload: 'b' })
    assert.deepEqual(again.all(), [], 'the third has expired')
    const last = third.restarted().device()
    last.request(post, `rd/${registered?.location[1]}`, '', '')
    assert.deepEqual(
      last.all().map(({ code }) => code),
      ['2.04'],
    )
  })
})
