// Refuses messages whose payload is not a JSON object with the required fields. An MQTT 5.0 publisher gets the reason code 0x99.

const payloadFormatInvalid = 0x99

/** @type {import('godwit/plugin').Plugin<{ required: readonly string[], maxBytes: number }>} */
export default function createHooks({ config, log, metrics }) {
  const refused = metrics.counter('refused_payloads')
  return {
    'message.publish': ({ client, message }) => {
      const problem = findProblem(message.payload, config)
      if (problem === undefined) return undefined
      refused.inc()
      log.warn(`${client?.clientid ?? 'the broker'} published to ${message.topic}: ${problem}`)
      return { drop: true, reasonCode: payloadFormatInvalid }
    },
  }
}

/** Returns what is wrong; undefined: the payload is as expected. */
function findProblem(payload, { required, maxBytes }) {
  if (payload.length > maxBytes) return `${payload.length} bytes; maximum ${maxBytes}`
  let value
  try {
    value = JSON.parse(Buffer.from(payload).toString())
  } catch {
    return 'the payload is not JSON'
  }
  if (typeof value !== 'object' || value === null) return 'the payload is not an object'
  const missing = required.find((field) => !Object.hasOwn(value, field))
  return missing === undefined ? undefined : `the field ${missing} is missing`
}
