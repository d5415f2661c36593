// Reads the metrics as Prometheus does.

const api = process.env.API_URL ?? 'http://127.0.0.1:8081'
const credentials = Buffer.from(`admin:${process.env.API_PASSWORD}`).toString('base64')

const response = await fetch(`${api}/api/v4/prometheus`, { headers: { authorization: `Basic ${credentials}` } })
const text = await response.text()
for (const name of ['svc_connections_count', 'svc_messages_received']) {
  const [, type] = new RegExp(`^# TYPE ${name} (\\w+)$`, 'm').exec(text) ?? []
  const [, value] = new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text) ?? []
  if (value === undefined) throw new Error(`${name} has no value`)
  console.log(`${name} is a ${type}`)
}
