// A bridge of `bridges.aws`: TLS with a client certificate, maximum QoS 1.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startBrokerWithApi } from '../management/api.ts'
import { Authority } from '../transports/certificates.ts'
import { client, Listener, oneShard } from './bridge-stage.ts'
import { portOf, temporaryFolder } from './godwit-process.ts'
import { longTest } from '../test-length.ts'

// Daily: a bridge over TLS with a certificate in test/e2e/bridge-transports.test.ts.
longTest(
  'a bridge to an endpoint like AWS IoT sends its certificate, transfers messages in both directions, and is in the API',
  async (t) => {
    const authority = new Authority('The endpoint authority')
    const [server, device] = [authority.issue('localhost', { hostNames: ['localhost'] }), authority.issue('thing-7')]
    const folder = await temporaryFolder(t)
    const path = (file: string): string => join(folder, file)
    const files = { 'ca.pem': authority.certificate, 's.key': server.key, 's.pem': server.certificate }
    for (const [file, text] of Object.entries({ ...files, 'd.key': device.key, 'd.pem': device.certificate }))
      await writeFile(path(file), text)
    const own = { keyfile: path('s.key'), certfile: path('s.pem'), cacertfile: path('ca.pem') }
    const tls = { ...own, bind: '127.0.0.1:0', verify_peer: true, fail_if_no_peer_cert: true }
    const remote = await startBrokerWithApi(t, {
      set: [...oneShard, `listeners.ssl=${JSON.stringify({ ...tls, peer_cert_as_clientid: 'cn' })}`],
    })
    const dataDirectory = await temporaryFolder(t)
    const bridge = {
      server: `localhost:${portOf(remote, 'ssl')}`,
      proto_ver: 4,
      ssl: { enable: true, keyfile: path('d.key'), certfile: path('d.pem'), cacertfile: path('ca.pem') },
      forwards: [{ local_topic: 'up/#', remote_topic: '' }],
      subscription: [{ remote_topic: 'down', local_topic: 'here/down', qos: 2 }],
    }
    await writeFile(join(dataDirectory, 'godwit.conf'), `bridges.aws.iot = ${JSON.stringify(bridge)}\n`)
    const broker = await startBrokerWithApi(t, { dataDirectory, set: oneShard })
    const [localListener, remoteListener] = [
      await Listener.at(t, broker.port, 'here/#'),
      await Listener.at(t, remote.port, 'up/#'),
    ]
    for (;;) {
      const { json } = await broker.request('/api/v4/bridges/aws.iot')
      if (json.data.bridge.nodes[0].status?.state === 'connected') break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await (await client(t, broker.port)).publishAsync('up/a', 'up', { qos: 2 })
    await (await client(t, remote.port)).publishAsync('down', 'down', { qos: 2 })
    await remoteListener.until(['up'])
    await localListener.until(['down'])
    assert.deepEqual(
      [...remoteListener.received, ...localListener.received].map(({ topic, qos }) => `${topic} ${qos}`),
      ['up/a 1', 'here/down 1'],
    )
    const { json: clients } = await remote.request('/api/v4/clients/thing-7')
    assert.equal(clients.data.length, 1)
    const { text } = await broker.request('/api/v4/prometheus')
    assert.match(text, /^svc_bridge_connected\{bridge="aws.iot"\} /m)
    const { json: section } = await broker.request('/api/v4/configuration/aws_bridge')
    assert.equal(section.data.aws_bridge.nodes[0].name, 'aws.iot')
    const data = { subscription: [{ remote_topic: 'more', local_topic: 'here/more', qos: 1 }] }
    assert.deepEqual((await broker.request('/api/v4/bridges/sub/aws.iot', { method: 'PUT', body: { data } })).json, {
      code: 0,
    })
    const author = await client(t, remote.port)
    for (;;) {
      const { json } = await remote.request('/api/v4/subscriptions/thing-7')
      if (json.data.some(({ topic }: { topic: string }) => topic === 'more')) break
    }
    await author.publishAsync('more', 'more', { qos: 1 })
    await localListener.until(['down', 'more'])
  },
)
