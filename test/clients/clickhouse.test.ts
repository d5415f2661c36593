// Rows for a real ClickHouse (Debian's 18.16): each acknowledged message arrives, and only refused rows become dead letters.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clickhouseServer } from './http-databases.ts'
import { actionView, deadLettersOf, publishAll, ruleTo, startWith, until } from './sink-stage.ts'

const messages = 200
const options = 'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,health_check_interval=200ms}'
const action = 'clickhouse:rows'

test('ClickHouse gets the row of each acknowledged message, although it is killed; a refused row becomes a dead letter', async (t) => {
  const server = await clickhouseServer(t)
  await server.start()
  const query = async (text: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${server.port}/?user=godwit&password=secret`, {
      method: 'POST',
      body: text,
    })
    return (await response.text()).trim()
  }
  const { broker, client } = await startWith(t, [
    `connectors.clickhouse.db={url="http://127.0.0.1:${server.port}",username=godwit,password=secret}`,
    `actions.clickhouse.rows={connector=db,parameters.sql="INSERT INTO readings (number, text, extra) VALUES (\${payload.number}, '\${payload.text}', \${payload.extra});",${options}}`,
    ruleTo(action),
  ])
  await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
  // The table is missing: queued rows are sent when it exists.
  await publishAll(client, 0, 1)
  await until(broker, action, async () => /readings/.test((await actionView(broker, action)).status_reason))
  await query(
    'CREATE TABLE readings (number UInt32, text String, extra Nullable(String)) ENGINE = MergeTree ORDER BY number',
  )
  await publishAll(client, 1, 50)
  await server.kill()
  await publishAll(client, 50, 100)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await server.start()
  await client.publishAsync('readings/1', JSON.stringify({ number: 'not a number', text: 'x' }), { qos: 1 })
  await client.publishAsync(
    'readings/1',
    JSON.stringify({ number: 1_000, text: "a\\b'); DROP TABLE readings --", extra: { a: [1] } }),
    { qos: 1 },
  )
  await publishAll(client, 100, messages)
  await until(broker, action, async () => (await query('SELECT uniq(number) FROM readings')) === String(messages + 1))
  const row = async (number: number): Promise<unknown> => {
    const text = await query(`SELECT DISTINCT text, extra FROM readings WHERE number = ${number} FORMAT JSONCompact`)
    return (JSON.parse(text) as { readonly data: readonly unknown[] }).data[0]
  }
  assert.deepEqual(await row(7), ["it's 7; --", null])
  assert.deepEqual(await row(1_000), ["a\\b'); DROP TABLE readings --", '{"a":[1]}'])
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
})
