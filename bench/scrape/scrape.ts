// Asks a running broker for its metrics once a second, and says how long each answer took. Run it beside a load.
//
//   node bench/scrape/scrape.ts http://127.0.0.1:8081 admin:PASSWORD 60

const [url = 'http://127.0.0.1:8081', account = 'admin:public', seconds = '60'] = process.argv.slice(2)
const headers = { authorization: `Basic ${Buffer.from(account).toString('base64')}` }
const tookMs: number[] = []
let bytes = 0

for (let second = 0; second < Number(seconds); second += 1) {
  const beganAtMs = performance.now()
  const answer = await fetch(`${url}/api/v4/prometheus`, { headers })
  bytes = (await answer.text()).length
  if (!answer.ok) throw new Error(`the broker answered ${answer.status}`)
  tookMs.push(performance.now() - beganAtMs)
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1_000 - (performance.now() - beganAtMs))))
}

tookMs.sort((a, b) => a - b)
const at = (share: number): string => tookMs[Math.floor((tookMs.length - 1) * share)].toFixed(1)
console.log(
  `${tookMs.length} scrapes of ${bytes} bytes: median ${at(0.5)} ms, 99 % ${at(0.99)} ms, longest ${at(1)} ms`,
)
