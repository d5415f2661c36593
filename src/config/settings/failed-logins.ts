// auth.failed_logins: limits of password guesses.

import { duration } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, integer } from '../schema/setting-type.ts'

const maxDelayMs = 60_000
const nextConnect = { appliesOn: 'on-next-connect' } as const

export const failedLogins = section(
  'Delays of logins after failed ones, against guessing of passwords. A client that logged in from the same address with the same password ' +
    'within a day is never delayed.',
  {
    enable: setting(boolean, true, {
      field: 'isEnabled',
      ...nextConnect,
      description: 'Whether logins are delayed after failed logins.',
    }),
    free_attempts: setting(integer({ min: 1, max: 1_000_000 }), 5, {
      field: 'freeAttempts',
      ...nextConnect,
      description: 'Number of failed logins of one user name from one address after which its logins are delayed.',
    }),
    delay: setting(duration({ minMs: 1, maxMs: maxDelayMs }), 200, {
      field: 'firstDelayMs',
      ...nextConnect,
      description:
        'Delay of the first login after free_attempts failed logins. It doubles with each further failed login.',
    }),
    max_delay: setting(duration({ minMs: 1, maxMs: maxDelayMs }), 5_000, {
      field: 'maxDelayMs',
      ...nextConnect,
      description:
        'Maximum delay of one login. A login that would have to wait longer is refused. Keep the value below mqtt.idle_timeout.',
    }),
    address_rate: setting(integer({ min: 1, max: 1_000_000 }), 20, {
      field: 'addressRate',
      ...nextConnect,
      description:
        'Maximum number of failed logins per second from one address, for all user names together. Beyond this rate, logins from the address are refused.',
    }),
    address_burst: setting(integer({ min: 1, max: 1_000_000 }), 200, {
      field: 'addressBurst',
      ...nextConnect,
      description: 'Number of failed logins from one address before address_rate applies.',
    }),
  },
)
