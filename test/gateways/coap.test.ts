// The CoAP gateway in memory: the state for each peer is limited. By section F4 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CoapGateway } from '../../src/gateways/index.ts'
import { coapSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const post = 2
const uriPath = 11
const uriQuery = 15
const block1 = 27

interface RequestOptions {
  readonly peer?: number
  readonly query?: readonly string[]
  readonly payload?: Buffer
  /** Of Block1: number, more flag, and exponent of the size. */
  readonly block?: readonly [number, boolean, number]
}

class Stage extends GatewayStage {
  #nextMessageId = 1
  readonly gateway = new CoapGateway(coapSettings, this.dependencies)

  /** The code of the response, as `2.04`; undefined: there is none yet. */
  post(
    path: string,
    { peer = 1, query = [], payload = Buffer.alloc(0), block }: RequestOptions = {},
  ): string | undefined {
    const id = this.#nextMessageId++
    const options: [number, Buffer][] = [
      ...path.split('/').map((segment): [number, Buffer] => [uriPath, Buffer.from(segment)]),
      ...query.map((part): [number, Buffer] => [uriQuery, Buffer.from(part)]),
    ]
    if (block !== undefined) {
      const [number, hasMore, exponent] = block
      const value = Buffer.alloc(3)
      value.writeUIntBE((number << 4) | (hasMore ? 8 : 0) | exponent, 0, 3)
      options.push([block1, value])
    }
    let last = 0
    const parts: Buffer[] = [Buffer.of(0x40, post, id >> 8, id & 255)]
    for (const [number, value] of options) {
      parts.push(optionHead(number - last, value.length), value)
      last = number
    }
    if (payload.length > 0) parts.push(Buffer.of(0xff), payload)
    this.sent.length = 0
    this.gateway.handleDatagram(Buffer.concat(parts), { address: `192.0.2.${peer & 255}`, port: 1_024 + (peer >> 8) })
    return this.lastCode()
  }

  lastCode(): string | undefined {
    const code = this.sent.at(-1)?.bytes[1]
    return code === undefined ? undefined : `${code >> 5}.${String(code & 31).padStart(2, '0')}`
  }
}

/** For lengths below 269. */
function optionHead(delta: number, length: number): Buffer {
  const more = [delta, length].filter((value) => value >= 13).map((value) => value - 13)
  return Buffer.of((Math.min(delta, 13) << 4) | Math.min(length, 13), ...more)
}

describe('[F4] the requests of a peer', () => {
  test('in blocks are stored up to 32 MiB of all peers together; the oldest has to start again', () => {
    const stage = new Stage()
    const block = Buffer.alloc(1_024)
    const perBody = 512
    const bodies = 80
    for (let peer = 0; peer < bodies; peer++)
      for (let number = 0; number < perBody; number++)
        assert.equal(stage.post('ps/a', { peer, payload: block, block: [number, true, 6] }), '2.31')
    const next = (peer: number) => stage.post('ps/a', { peer, payload: block, block: [perBody, true, 6] })
    assert.equal(next(0), '4.08', 'the oldest was dropped')
    assert.equal(next(bodies - 1), '2.31', 'the newest continues')
  })

  test('are refused while the broker does not read', () => {
    const stage = new Stage()
    stage.post('ps/a', { payload: Buffer.from('x') })
    stage.acceptAll()
    stage.unsentBytes = 1_048_577
    assert.equal(stage.post('ps/a', { payload: Buffer.from('x') }), '5.03')
  })

  test('are refused if the broker has its maximum of connections', () => {
    const stage = new Stage()
    stage.hasSpace = false
    assert.equal(stage.post('ps/a', { payload: Buffer.from('x') }), '5.03')
    assert.equal(stage.connections.length, 0)
  })
})

describe('[F4] a client', () => {
  test('is identified by its own token only', () => {
    const stage = new Stage()
    stage.post('mqtt/connection', { query: ['clientid=c'] })
    stage.acceptAll()
    assert.equal(stage.lastCode(), '2.01')
    const token = stage.sent.at(-1)?.bytes.subarray(5).toString() ?? ''
    for (const wrong of ['', '1', `${token}0`, token.slice(1)])
      assert.equal(stage.post('ps/a', { peer: 2, query: ['clientid=c', `token=${wrong}`] }), '4.01', wrong)
    stage.post('ps/a', { peer: 3, query: ['clientid=c', `token=${token}`] })
    assert.equal(stage.connections[0]?.published.length, 1)
  })

  test('without a token is another one if user name or password differ', () => {
    const stage = new Stage()
    stage.post('ps/a', { query: ['clientid=c', 'username=u', 'password=p'] })
    stage.acceptAll()
    stage.post('ps/a', { query: ['clientid=c', 'username=u', 'password=p'] })
    assert.equal(stage.connections.length, 1)
    stage.post('ps/a', { query: ['clientid=c', 'username=u', 'password=q'] })
    stage.post('ps/a', { query: ['clientid=c', 'username=u'] })
    assert.equal(stage.connections.length, 3)
  })
})
