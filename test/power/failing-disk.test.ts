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
  ['sync', 'a disk that makes nothing safe', 1],
  ['full', 'a full disk under three shards, of which one notices', 3],
]

/** With one shard, a full disk is tested daily at the store: test/storage. */
for (const [fault, name, shards] of isLong ? faults : faults.slice(1)) {
  test(`${name}: nothing durable is acknowledged, clean sessions are served, and everything works when the disk works again`, async (t) => {
    const stage = await DiskStage.begin(t, shards)
    stage.disk.fail(fault)
    await stage.noticesFault()
    await stage.durablePublishesWaitOrAreRefused()
    await stage.cleanSessionsGoOn()
    stage.nothingDurableIsAcknowledged()
    stage.disk.recover()
    await stage.whatWaitedIsAcknowledged()
    await stage.sleeperHasAll(stage.godwit)
    const code = await stage.godwit.stop('SIGKILL')
    assert.equal(code, null, 'it had to be killed')
    await stage.sleeperHasAllAfterRestart(t)
  })
}

/** A sleeper that is owed whatever is published below `kept/`, and those who publish and hear. */
class DiskStage {
  readonly disk: FailingDisk
  readonly godwit: WatchedProcess
  readonly dataDirectory: string
  readonly #port: number
  readonly #shards: number
  #peers: Record<'early' | 'refused' | 'old' | 'clean' | 'hearer', MqttPeer> | undefined
  #newcomer: MqttPeer | undefined

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
    const settings = ['listeners.tcp.bind="127.0.0.1:0"', `node.shards=${shards}`, 'log.to=[console,file]'].flatMap(
      (one) => ['--set', one],
    )
    const environment = { ...process.env, ...disk.environment }
    const godwit = runGodwit(t, ['start', '--data', dataDirectory, ...settings], environment)
    const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)/)
    const stage = new DiskStage(disk, godwit, { dataDirectory, port: Number(port), shards })
    await stage.#gather(t)
    return stage
  }

  get peers(): Record<'early' | 'refused' | 'old' | 'clean' | 'hearer', MqttPeer> {
    assert.ok(this.#peers !== undefined)
    return this.#peers
  }

  async #gather(t: TestContext): Promise<void> {
    const sleeper = await this.#sleeper(this.#port)
    await sleeper.subscribe('kept/#', 1)
    sleeper.destroy()
    this.#peers = {
      early: await MqttPeer.connect(this.#port, { clientId: 'early', version: 5 }),
      refused: await MqttPeer.connect(this.#port, { clientId: 'refused', version: 5 }),
      old: await MqttPeer.connect(this.#port, { clientId: 'old', version: 4 }),
      clean: await MqttPeer.connect(this.#port, { clientId: 'clean', version: 5 }),
      hearer: await MqttPeer.connect(this.#port, { clientId: 'hearer', version: 4 }),
    }
    t.after(() => Object.values(this.peers).forEach((peer) => peer.destroy()))
    await this.peers.hearer.subscribe('free/#', 2)
    this.peers.early.publish({ topic: 'kept/early', payload: 'before', qos: 1, packetId: 1 })
    assert.equal((await this.peers.early.untilAck(1)).reasonCode, 0)
  }

  #sleeper(port: number): Promise<MqttPeer> {
    return MqttPeer.connect(port, { clientId: 'sleeper', version: 5, isDurable: true })
  }

  /** The first message that the disk does not take is what shows the fault; every shard hears of it. */
  async noticesFault(): Promise<void> {
    this.peers.early.publish({ topic: 'kept/early', payload: 'noticed', qos: 1, packetId: 2 })
    await this.godwit.until(new RegExp(`(the disk fails, nothing durable is acknowledged[^]*){${this.#shards}}`))
  }

  async durablePublishesWaitOrAreRefused(): Promise<void> {
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
    // Its reader stands still from here on: this is not even heard.
    old.send({ type: 'pingreq' })
    this.#newcomer = new MqttPeer(this.#port, { clientId: 'newcomer', version: 5, isDurable: true })
  }

  /** By the time they are served whatever was sent before has been handled, too. */
  async cleanSessionsGoOn(): Promise<void> {
    const { clean, hearer } = this.peers
    clean.publish({ topic: 'free/0', payload: 'at most once' })
    clean.publish({ topic: 'free/1', payload: 'at least once', qos: 1, packetId: 1 })
    clean.publish({ topic: 'free/2', payload: 'exactly once', qos: 2, packetId: 2 })
    clean.publish({ topic: 'nobody/hears', payload: 'lost', qos: 1, packetId: 3 })
    const acks = [await clean.untilAck(1), await clean.untilAck(2), await clean.untilAck(3)]
    assert.deepEqual(
      acks.map(({ reasonCode }) => reasonCode),
      [0, 0, noMatchingSubscribers],
    )
    await hearer.until('three messages', () => hearer.of('publish')[2])
    assert.deepEqual(hearer.payloads(), ['at most once', 'at least once', 'exactly once'])
  }

  nothingDurableIsAcknowledged(): void {
    const { early, old } = this.peers
    assert.equal(early.ack(2), undefined, 'acknowledged though it is not stored')
    assert.equal(old.ack(1), undefined, 'a 3.1.1 client can only be made to wait')
    assert.deepEqual(old.of('pingresp'), [], 'its reader should stand still')
    // It waits, or is refused where its shard has heard of the disk already; what it may not be is let in.
    const connacks = this.#newcomer?.of('connack') ?? []
    const isLetIn = connacks.some(({ reasonCode }) => reasonCode === 0)
    assert.equal(isLetIn, false, 'its session is not stored')
  }

  async whatWaitedIsAcknowledged(): Promise<void> {
    const { early, refused, old } = this.peers
    const newcomer = this.#newcomer
    assert.equal((await early.untilAck(2)).reasonCode, 0)
    assert.equal((await old.untilAck(1)).type, 'puback')
    await old.until('PINGRESP', () => old.of('pingresp')[0])
    await newcomer?.until('CONNACK', () => newcomer.of('connack')[0])
    newcomer?.destroy()
    await this.godwit.until(/the disk works again/)
    refused.publish({ topic: 'kept/refused', payload: 'at last', qos: 1, packetId: 4 })
    assert.equal((await refused.untilAck(4)).reasonCode, 0)
    for (const peer of Object.values(this.peers)) assert.ok(peer.isOpen, `${peer.options.clientId} was disconnected`)
  }

  /** It does not acknowledge, so that it is owed the same after a crash. */
  async sleeperHasAll(godwit: WatchedProcess, port = this.#port): Promise<void> {
    const sleeper = await this.#sleeper(port)
    assert.equal(sleeper.of('connack')[0].sessionPresent, true)
    await sleeper.until('what it is owed', () => sleeper.of('publish')[3])
    assert.deepEqual(sleeper.payloads(), ['before', 'noticed', 'waited', 'at last'])
    sleeper.destroy()
    assert.equal(godwit.child.exitCode, null)
  }

  async sleeperHasAllAfterRestart(t: TestContext): Promise<void> {
    const { port, process } = await startBroker(t, { dataDirectory: this.dataDirectory })
    await this.sleeperHasAll(process, port)
    await process.stop()
    assert.doesNotMatch(process.errors, /alarm/)
  }
}
