// Times as the API writes them.

const msPerSecond = 1_000
const secondsPerMinute = 60
const secondsPerHour = 3_600

/** `2 Hours, 0 minutes, 5 seconds` */
export function uptimeInWords(spanMs: number): string {
  const seconds = Math.floor(spanMs / msPerSecond)
  const hours = Math.floor(seconds / secondsPerHour)
  const minutes = Math.floor(seconds / secondsPerMinute) % secondsPerMinute
  return `${hours} Hours, ${minutes} minutes, ${seconds % secondsPerMinute} seconds`
}

/** `YYYY-MM-DD HH:mm:ss`, in the time zone of the machine. */
export function localTime(atMs: number): string {
  const at = new Date(atMs)
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-')
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}
