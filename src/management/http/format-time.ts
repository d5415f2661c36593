// Time formats of the API.

const msPerSecond = 1_000
const secondsPerMinute = 60
const secondsPerHour = 3_600

/** `2 Hours, 0 minutes, 5 seconds` */
export function formatUptime(spanMs: number): string {
  const seconds = Math.floor(spanMs / msPerSecond)
  const hours = Math.floor(seconds / secondsPerHour)
  const minutes = Math.floor(seconds / secondsPerMinute) % secondsPerMinute
  return `${hours} Hours, ${minutes} minutes, ${seconds % secondsPerMinute} seconds`
}

/** `YYYY-MM-DD HH:mm:ss`, in the time zone of the machine. */
export function formatLocalTime(atMs: number): string {
  const at = new Date(atMs)
  const date = [at.getFullYear(), padTwoDigits(at.getMonth() + 1), padTwoDigits(at.getDate())].join('-')
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(padTwoDigits).join(':')}`
}

/** RFC 3339 with milliseconds and the offset of the machine's time zone: `2026-11-21T17:05:00.000+01:00`. */
export function formatOffsetTime(atMs: number): string {
  const minutesEast = -new Date(atMs).getTimezoneOffset()
  const shifted = new Date(atMs + minutesEast * minuteMs).toISOString().slice(0, -1)
  const minutes = Math.abs(minutesEast)
  const sign = minutesEast < 0 ? '-' : '+'
  return `${shifted}${sign}${padTwoDigits(Math.floor(minutes / minutesPerHour))}:${padTwoDigits(minutes % minutesPerHour)}`
}

const minuteMs = 60_000
const minutesPerHour = 60

function padTwoDigits(number: number): string {
  return String(number).padStart(2, '0')
}
