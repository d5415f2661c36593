// The disk of the real program fails for a while. Needs gcc.

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { runGodwit, startBroker, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { isLong } from '../test-length.ts'
import { FailingDisk, type DiskFault } from './failing-disk.ts'
import { MqttPeer } from '../faults/mqtt-peer.ts'

const quotaExceeded = 0x97
const noMatchingSubscribers = 0x10

const faults: readonly [DiskFault, string, shards: number][] = [
  ['full', 'a full disk', 1],
  ['sync', 'a disk that does not sync', 1],
  ['full', 'a full disk with three shards, one of which detects it', 3],
]

/** In the daily run, the tests of test/storage cover a full disk with one shard. */
for (const [fault, name, shards] of isLong ? faults : faults.slice(1)) {
  test(`${name}: no message that must be stored is acknowledged, clean sessions are served, and everything works when the disk works again`, async (t) => {
    const stage = await DiskStage.begin(t, shards)
    stage.disk.fail(fault)
    await stage.awaitFaultReport()
    await stage.assertDurablePublishesWaitOrAreRefused()
    await stage.assertCleanSessionsAreServed()
    stage.assertNothingDurableAcknowledged()
    stage.disk.recover()
    await stage.assertWaitingPublishesAcknowledged()
    await stage.assertOfflineSubscriberReceivesAll(stage.godwit)
    const code = await stage.godwit.stop('SIGKILL')
    assert.equal(code, null, 'it had to be killed')
    await stage.assertOfflineSubscriberReceivesAllAfterRestart(t)
  })
}

/** An offline session that must receive all messages below `kept/`, publishers, and a subscriber. */
class DiskStage {
  readonly disk: FailingDisk
  readonly godwit: WatchedProcess
  readonly dataDirectory: string
  readonly #port: number
  readonly #shards: number
  #peers: Record<'early' | 'refused' | 'old' | 'clean' | 'subscriber', MqttPeer> | undefined
  #newClient: MqttPeer | undefined

  constructor(
    disk: FailingDisk,
    godwit: WatchedProcess,
    where: { dataDirectory: string; port: number; shards: number },
  ) {
    this.disk = disk
    this.godwit = godwit
    this.dataDirectory = where.dataDirectory
    this.#port = where.port
    this.#shards = where.shards
  }

  static async begin(t: TestContext, shards: number): Promise<DiskStage> {
    const folder = await temporaryFolder(t)
    const dataDirectory = join(folder, 'data')
    mkdirSync(dataDirectory, { mode: 0o700 })
    const disk = new FailingDisk(folder, dataDirectory)
    const settings = [
      'listeners.tcp.bind="127.0.0.1:0"',
      'http_server.port=0',
      'http_server.password="a-password-for-tests"',
      `node.shards=${shards}`,
      'log.to=[console,file]',
    ].flatMap((one) => ['--set', one])
    // With a setting of malloc, the broker does not execute itself again, which takes a third of the time of a start.
    const environment = { ...process.env, ...disk.environment, MALLOC_ARENA_MAX: '4' }
    const godwit = runGodwit(t, ['start', '--data', dataDirectory, ...settings], environment)
    const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)/)
    const stage = new DiskStage(disk, godwit, { dataDirectory, port: Number(port), shards })
    await stage.#connectPeers(t)
    return stage
  }

  get peers(): Record<'early' | 'refused' | 'old' | 'clean' | 'subscriber', MqttPeer> {
    assert.ok(this.#peers !== undefined)
    return this.#peers
  }

  async #connectPeers(t: TestContext): Promise<void> {
    const offlineSubscriber = await this.#connectOfflineSubscriber(this.#port)
    await offlineSubscriber.subscribe('kept/#', 1)
    offlineSubscriber.destroy()
    this.#peers = {
      early: await MqttPeer.connect(this.#port, { clientId: 'early', version: 5 }),
      refused: await MqttPeer.connect(this.#port, { clientId: 'refused', version: 5 }),
      old: await MqttPeer.connect(this.#port, { clientId: 'old', version: 4 }),
      clean: await MqttPeer.connect(this.#port, { clientId: 'clean', version: 5 }),
      subscriber: await MqttPeer.connect(this.#port, { clientId: 'subscriber', version: 4 }),
    }
    t.after(() => Object.values(this.peers).forEach((peer) => peer.destroy()))
    await this.peers.subscriber.subscribe('free/#', 2)
    this.peers.early.publish({ topic: 'kept/early', payload: 'before', qos: 1, packetId: 1 })
    assert.equal((await this.peers.early.untilAck(1)).reasonCode, 0)
  }

  #connectOfflineSubscriber(port: number): Promise<MqttPeer> {
    return MqttPeer.connect(port, { clientId: 'offlineSubscriber', version: 5, isDurable: true })
  }

  /** The first message that cannot be written shows the fault, which is reported to every shard. */
  async awaitFaultReport(): Promise<void> {
    this.peers.early.publish({ topic: 'kept/early', payload: 'noticed', qos: 1, packetId: 2 })
    await this.godwit.until(
      new RegExp(`(the disk fails: messages that must be stored are not acknowledged[^]*){${this.#shards}}`),
    )
  }

  async assertDurablePublishesWaitOrAreRefused(): Promise<void> {
    const { refused, old } = this.peers
    refused.publish({ topic: 'kept/refused', payload: 'refused', qos: 1, packetId: 1 })
    refused.publish({ topic: 'kept/refused', payload: 'refused', qos: 2, packetId: 2 })
    refused.publish({ topic: 'remembered', payload: 'refused', qos: 1, retain: true, packetId: 3 })
    const reasons = [await refused.untilAck(1), await refused.untilAck(2), await refused.untilAck(3)]
    assert.deepEqual(
      reasons.map(({ type, reasonCode }) => [type, reasonCode]),
      [
        ['puback', quotaExceeded],
        ['pubrec', quotaExceeded],
        ['puback', quotaExceeded],
      ],
    )
    old.publish({ topic: 'kept/old', payload: 'waited', qos: 1, packetId: 1 })
    // The broker has paused reading from this client, so it does not read the PINGREQ.
    old.send({ type: 'pingreq' })
    this.#newClient = new MqttPeer(this.#port, { clientId: 'newClient', version: 5, isDurable: true })
  }

  /** When these messages are acknowledged, all earlier packets have been handled, too. */
  async assertCleanSessionsAreServed(): Promise<void> {
    const { clean, subscriber } = this.peers
    clean.publish({ topic: 'free/0', payload: 'at most once' })
    clean.publish({ topic: 'free/1', payload: 'at least once', qos: 1, packetId: 1 })
    clean.publish({ topic: 'free/2', payload: 'exactly once', qos: 2, packetId: 2 })
    clean.publish({ topic: 'no/subscriber', payload: 'lost', qos: 1, packetId: 3 })
    const acks = [await clean.untilAck(1), await clean.untilAck(2), await clean.untilAck(3)]
    assert.deepEqual(
      acks.map(({ reasonCode }) => reasonCode),
      [0, 0, noMatchingSubscribers],
    )
    await subscriber.until('three messages', () => subscriber.of('publish')[2])
    assert.deepEqual(subscriber.payloads(), ['at most once', 'at least once', 'exactly once'])
  }

  assertNothingDurableAcknowledged(): void {
    const { early, old } = this.peers
    assert.equal(early.ack(2), undefined, 'acknowledged though it is not stored')
    assert.equal(old.ack(1), undefined, 'a 3.1.1 client can only be made to wait')
    assert.deepEqual(old.of('pingresp'), [], 'the broker should pause reading')
    // The CONNECT waits, or is refused if its shard knows the fault already. It must not be accepted.
    const connacks = this.#newClient?.of('connack') ?? []
    const isAccepted = connacks.some(({ reasonCode }) => reasonCode === 0)
    assert.equal(isAccepted, false, 'its session is not stored')
  }

  async assertWaitingPublishesAcknowledged(): Promise<void> {
    const { early, refused, old } = this.peers
    const newClient = this.#newClient
    assert.equal((await early.untilAck(2)).reasonCode, 0)
    assert.equal((await old.untilAck(1)).type, 'puback')
    await old.until('PINGRESP', () => old.of('pingresp')[0])
    await newClient?.until('CONNACK', () => newClient.of('connack')[0])
    newClient?.destroy()
    await this.godwit.until(/the disk works again/)
    refused.publish({ topic: 'kept/refused', payload: 'at last', qos: 1, packetId: 4 })
    assert.equal((await refused.untilAck(4)).reasonCode, 0)
    for (const peer of Object.values(this.peers)) assert.ok(peer.isOpen, `${peer.options.clientId} was disconnected`)
  }

  /** The subscriber does not acknowledge, so it must receive the same messages after a crash. */
  async assertOfflineSubscriberReceivesAll(godwit: WatchedProcess, port = this.#port): Promise<void> {
    const offlineSubscriber = await this.#connectOfflineSubscriber(port)
    assert.equal(offlineSubscriber.of('connack')[0].sessionPresent, true)
    await offlineSubscriber.until('the queued messages', () => offlineSubscriber.of('publish')[3])
    assert.deepEqual(offlineSubscriber.payloads(), ['before', 'noticed', 'waited', 'at last'])
    offlineSubscriber.destroy()
    assert.equal(godwit.child.exitCode, null)
  }

  async assertOfflineSubscriberReceivesAllAfterRestart(t: TestContext): Promise<void> {
    const { port, process } = await startBroker(t, { dataDirectory: this.dataDirectory })
    await this.assertOfflineSubscriberReceivesAll(process, port)
    await process.stop()
    assert.doesNotMatch(process.errors, /alarm/)
  }
}
