// Connections between nodes over real sockets: TLS, secrets, cuts, and peers that are no nodes.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { LifeLinks, type LinkChannel, type LinkIdentity, linkLevels } from '../../../src/cluster/index.ts'
import { type ConnectionEnd, type NodeSecurity, NodeSockets } from '../../../src/links/index.ts'
import { temporaryFolder } from '../../e2e/godwit-process.ts'
import { eventually } from '../../e2e/eventually.ts'
import { Authority } from '../../transports/certificates.ts'
import { TcpRelay } from './tcp-relay.ts'

const lives = ['00000000000000aa', '00000000000000bb'] as const
const secret: NodeSecurity = { secret: 'plant secret', tls: undefined }

/** A node with one shard, whose channels collect what arrives. */
class Node {
  readonly received: string[] = []
  readonly ends: ConnectionEnd[] = []
  readonly refusals: string[] = []
  channel: LinkChannel | undefined
  port = 0
  readonly links: LifeLinks
  readonly sockets: NodeSockets
  readonly #other: string

  constructor(t: TestContext, index: number, security: NodeSecurity) {
    const identity: LinkIdentity = {
      clusterId: 'plant',
      nodeName: `node-${index + 1}`,
      life: lives[index],
      run: 1,
      levels: linkLevels,
      storeIdentifiers: [],
    }
    this.#other = lives[1 - index]
    this.links = new LifeLinks({
      own: identity,
      limits: { maxKeptBytes: 1_000_000 },
      openChannel: (channel) => {
        this.channel = channel
        return {
          handleBuffer: (buffer) => void this.received.push(Buffer.from(buffer).toString()),
          handleFullChange: () => {},
          handleEnd: () => {},
        }
      },
    })
    this.links.setLives(new Set([this.#other]))
    this.links.addShard({ name: { stored: index }, epoch: 1, incarnation: 1 })
    this.sockets = new NodeSockets({
      purpose: 'data',
      identity,
      listen: { host: '127.0.0.1', port: 0 },
      security,
      monotonicMs: () => performance.now(),
      isConnected: (life) => this.links.find(life)?.isResumed === true,
      admit: (connection, hello, nowMs) => this.links.admit(connection, hello, nowMs),
      onTick: () => this.links.tick(),
      onEstablished: () => {},
      onEnd: (end) => void this.ends.push(end),
      onRefused: (reason) => void this.refusals.push(reason),
      onFilesProblem: () => {},
    })
    t.after(() => this.sockets.close())
  }

  get isLinked(): boolean {
    return this.links.find(this.#other)?.isResumed === true
  }

  dial(port: number): void {
    const address = { host: '127.0.0.1', port }
    this.sockets.setNodes([{ life: this.#other, name: 'the other node', address }])
  }

  send(text: string): void {
    assert.ok(this.channel !== undefined, 'there is no channel')
    this.channel.send(Uint8Array.from(Buffer.from(text)).buffer)
  }
}

async function openNodes(t: TestContext, securities: readonly [NodeSecurity, NodeSecurity]): Promise<[Node, Node]> {
  const nodes = [new Node(t, 0, securities[0]), new Node(t, 1, securities[1])] as const
  for (const node of nodes) node.port = await node.sockets.open()
  return [...nodes]
}

async function writeNodeFiles(t: TestContext, authority: Authority): Promise<NodeSecurity> {
  const folder = await temporaryFolder(t)
  const { certificate, key } = authority.issue('node', { hostNames: ['127.0.0.1'] })
  const files = { caFile: authority.certificate, certFile: certificate, keyFile: key }
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name}.pem`)
    writeFileSync(path, text)
    return [name, path]
  })
  return { secret: undefined, tls: { ...Object.fromEntries(paths), keyPassword: undefined } as NodeSecurity['tls'] }
}

test('two nodes that dial each other have one connection, over which buffers arrive in order', async (t) => {
  const [one, other] = await openNodes(t, [secret, secret])
  one.dial(other.port)
  other.dial(one.port)
  await eventually(() => assert.ok(one.channel !== undefined && other.channel !== undefined))
  for (let i = 0; i < 200; i++) one.send(`message ${i}`)
  other.send('reply')
  await eventually(() => assert.equal(other.received.length, 200))
  assert.deepEqual(
    other.received,
    Array.from({ length: 200 }, (_, i) => `message ${i}`),
  )
  await eventually(() => assert.deepEqual(one.received, ['reply']))
})

test('a connection that is cut, or blocked in one direction, is replaced, and nothing is lost', async (t) => {
  const [one, other] = await openNodes(t, [secret, secret])
  const relay = await TcpRelay.open(t, other.port)
  one.dial(relay.port)
  await eventually(() => assert.ok(one.channel !== undefined && other.channel !== undefined))
  const sent: string[] = []
  for (const fault of ['cut', 'to-target', 'from-target'] as const) {
    if (fault === 'cut') relay.cut()
    else relay.block(fault)
    for (let i = 0; i < 50; i++) {
      sent.push(`${fault} ${i}`)
      one.send(`${fault} ${i}`)
      other.send(`${fault} ${i}`)
    }
    await eventually(() => assert.equal(one.isLinked && other.isLinked, false, 'both sides still use the connection'))
    relay.heal()
    await eventually(() => assert.ok(one.isLinked && other.isLinked))
  }
  await eventually(() => assert.deepEqual([one.received.length, other.received.length], [150, 150]))
  assert.deepEqual([one.received, other.received], [sent, sent])
})

test('a node with another secret, or with none, is refused by both sides', async (t) => {
  const [one, other] = await openNodes(t, [secret, { secret: 'another secret', tls: undefined }])
  one.dial(other.port)
  await eventually(() => assert.equal(one.ends[0]?.reason, 'authentication'))
  assert.equal(other.ends[0]?.reason, 'authentication')
  assert.equal(one.ends[0].nodeName, 'the other node')
})

test('nodes with certificates of the same authority connect; others do not', async (t) => {
  const authority = new Authority('plant')
  const trusted = await writeNodeFiles(t, authority)
  const [one, other] = await openNodes(t, [trusted, await writeNodeFiles(t, authority)])
  one.dial(other.port)
  await eventually(() => assert.ok(one.isLinked && other.isLinked))
  one.send('over TLS')
  await eventually(() => assert.deepEqual(other.received, ['over TLS']))
  const [untrusted, node] = await openNodes(t, [await writeNodeFiles(t, new Authority('other plant')), trusted])
  untrusted.dial(node.port)
  await eventually(() => assert.match(untrusted.ends[0]?.message ?? '', /TLS handshake/))
  assert.equal(node.isLinked, false)
  const [plain, secure] = await openNodes(t, [secret, trusted])
  plain.dial(secure.port)
  await eventually(() => assert.ok(plain.ends.length > 0 && secure.refusals.length > 0))
})

test('bytes that are no frame end their connection only, and many silent connections do not keep a node out', async (t) => {
  const [one, other] = await openNodes(t, [secret, secret])
  const garbage = connect(other.port, '127.0.0.1')
  garbage.write('GET / HTTP/1.1\r\n\r\n')
  await once(garbage, 'close')
  assert.equal(other.ends[0]?.reason, 'frame-too-long')
  const silent = Array.from({ length: 100 }, () => connect(other.port, '127.0.0.1').on('error', () => {}))
  t.after(() => silent.forEach((socket) => socket.destroy()))
  await eventually(() => assert.ok(other.ends.filter(({ reason }) => reason === 'too-slow').length >= 36))
  for (const socket of silent) socket.destroy()
  one.dial(other.port)
  await eventually(() => assert.ok(one.isLinked && other.isLinked))
})
