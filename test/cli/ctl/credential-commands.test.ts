import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const secrets = {
  user: 'a-password',
  clientid: 'a-password',
  scram: 'a-password',
  psk: '00112233445566778899aabbccddeeff',
}

const sharedBroker = shareBrokerWithApi()

for (const [group, secret] of Object.entries(secrets)) {
  test(`ctl ${group}: what is stored comes and goes, and its secret is read from stdin`, async () => {
    const broker = await sharedBroker()
    const lines = [secret]
    await ctlDone(broker, [group, 'add', 'an/na'], { lines })
    assert.match(await ctlRefused(broker, 1, [group, 'add', 'an/na'], lines), /\(code 113\)/)
    await ctlDone(broker, [group, 'update', 'an/na'], { lines: [secret] })
    const listed = await ctlDone(broker, [group, 'list'])
    assert.match(listed, /^an\/na(\t|$)/m)
    assert.ok(!listed.includes(secret))
    await ctlDone(broker, [group, 'del', 'an/na'])
    assert.match(await ctlRefused(broker, 1, [group, 'del', 'an/na']), /\(code 105\)/)
    assert.match(await ctlRefused(broker, 2, [group, 'add', 'bert']), /of bert: none was given/)
  })
}

test('an unknown name gives a clear error, and is no internal error of the broker', async () => {
  const broker = await sharedBroker()
  assert.match(await ctlRefused(broker, 1, ['scram', 'update', 'an\u0001na'], ['a-password']), /\(code 105\)/)
})

test('a stored password lets the next client with it connect', async () => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['user', 'add', 'anna'], { lines: ['right'] })
  const at = `mqtt://127.0.0.1:${broker.port}`
  const client = await connectAsync(at, { username: 'anna', password: 'right' })
  await client.endAsync()
  await assert.rejects(connectAsync(at, { username: 'anna', password: 'wrong', reconnectPeriod: 0 }))
})
