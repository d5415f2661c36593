// Fault x transport of a bridge: its remote broker is behind a proxy that fails, and everything that was acknowledged must arrive there.

import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import { type Scope, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { portOfListener, startBrokerWithApi } from '../management/api.ts'
import { isLong } from '../test-length.ts'
import { Authority } from '../transports/certificates.ts'
import { findUnnoticed, isReachedWithin, pause } from './matrix/broker-state.ts'
import { DatagramFaultProxy } from './matrix/datagram-fault-proxy.ts'
import { type Fault, FaultProxy, faults } from './matrix/fault-proxy.ts'
import { lateMs, type Proxies } from './matrix/proxied-services.ts'
import { startMosquitto } from './mosquitto-server.ts'

const recoveredMs = 60_000

const bridgeCells: readonly Fault[] = isLong ? faults : ['silent']
const authority = new Authority('The test authority')

interface Remote {
  /** Where clients of the test connect, without TLS and without the proxy. */
  readonly port: number
  /** What is before the port of the bridge. */
  readonly proxy: Proxies & { readonly port: number }
  /** The URL without the port of the proxy. */
  readonly address: string
  readonly tls: string
}

const remotes: Readonly<Record<string, (t: Scope) => Promise<Remote>>> = {
  TCP: async (t) => {
    const { port } = await startMosquitto(t)
    return { port, proxy: await FaultProxy.start(t, port, { lateMs }), address: 'mqtt-tcp://127.0.0.1', tls: '' }
  },
  TLS: async (t) => {
    const folder = await writeCertificates(t)
    const bridged = await reservePort(t)
    const lines = [`listener ${bridged} 127.0.0.1`, `certfile ${folder}/cert.pem`, `keyfile ${folder}/key.pem`]
    const { port } = await startMosquitto(t, lines)
    const tls = `tls={cacertfile="${folder}/ca.pem"},`
    return { port, proxy: await FaultProxy.start(t, bridged, { lateMs }), address: 'tls+mqtt-tcp://127.0.0.1', tls }
  },
  QUIC: async (t) => {
    const folder = await writeCertificates(t)
    const remote = await startBrokerWithApi(t, {
      set: [`listeners.quic={bind="127.0.0.1:0",certfile="${folder}/cert.pem",keyfile="${folder}/key.pem"}`],
    })
    const bridged = await portOfListener(remote, 'quic')
    const tls = `tls={cacertfile="${folder}/ca.pem"},`
    return {
      port: remote.port,
      proxy: await DatagramFaultProxy.start(t, bridged, { lateMs }),
      address: 'mqtt-quic://localhost',
      tls,
    }
  },
}

/** Returns a folder with `ca.pem`, `cert.pem` and `key.pem` for the host of the proxies. */
async function writeCertificates(t: Scope): Promise<string> {
  const folder = await temporaryFolder(t)
  // mosquitto changes to another system user, which must be able to read its files.
  await chmod(folder, 0o777)
  const { certificate, key } = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
  const files = { 'ca.pem': authority.certificate, 'cert.pem': certificate, 'key.pem': key }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

// Concurrently, because the tests wait for remote brokers that do not respond.
describe('a bridge whose remote broker fails', { concurrency: true }, () => {
  for (const [transport, start] of Object.entries(remotes)) {
    test(`${transport}: the bridge recovers from each fault, its state is true, and each message arrives`, async (t) => {
      const { port, proxy, address, tls } = await start(t)
      const broker = await startBrokerWithApi(t, {
        set: [
          `bridges.mqtt.far={server="${address}:${proxy.port}",${tls}enable=true,proto_ver=4,clientid=far,clean_start=false,keepalive=2s,backoff_max=2s,resend_wait=1s,forwards=[{remote_topic="",local_topic="to/#",qos=1}]}`,
        ],
      })
      const [client, remote] = [
        await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`),
        await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`),
      ]
      t.after(() => [client, remote].map((each) => each.end(true)))
      const received = new Set<number>()
      remote.on('message', (_, payload) => void received.add(Number(payload.toString())))
      await remote.subscribeAsync('to/#', { qos: 1 })
      const view = async (): Promise<readonly [string, string]> => {
        const { json } = await broker.request('/api/v4/bridges/far')
        const { status } = json.data.bridge.nodes[0]
        return [String(status.state), String(status.last_error ?? '')]
      }
      let sent = 0
      for (const fault of bridgeCells) {
        assert.ok(
          await isReachedWithin(recoveredMs, async () => (await view())[0] === 'connected'),
          `${fault}: not connected before`,
        )
        await proxy.begin(fault)
        for (let count = 0; count < 20; count++) await client.publishAsync('to/1', String(sent++), { qos: 1 })
        if (fault === 'silent' || fault === 'refuse')
          assert.deepEqual(await findUnnoticed(broker, 'bridge:far', view), [], fault)
        else await pause(3_000)
        await proxy.heal()
        const hasAll = () => Array.from({ length: sent }, (_, number) => number).every((number) => received.has(number))
        assert.ok(await isReachedWithin(recoveredMs, hasAll), `${fault}: ${received.size} of ${sent}`)
        assert.ok(proxy.open <= 3, `${fault}: ${proxy.open} connections`)
      }
    })
  }
})
