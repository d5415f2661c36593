// backup: automatic backups.

import { integer, optional, text } from '../schema/setting-type.ts'
import { section, setting } from '../schema/setting.ts'

const when = text({
  form: {
    pattern: /^(?:(?:sun|mon|tue|wed|thu|fri|sat) )?(?:[01]\d|2[0-3]):[0-5]\d$/,
    name: 'a time of day such as 03:30, or of a week such as sun 03:30',
  },
})

export const backup = section('Backups by a schedule. The archives are stored in the backup directory of the node.', {
  schedule: setting(optional(when, 'none'), undefined, {
    field: 'when',
    description:
      'Time at which an archive is made: each day (03:30) or each week (sun 03:30), in the time zone of this machine.',
    appliesOn: 'at-once',
    defaultWords: 'never',
  }),
  keep: setting(integer({ min: 1, max: 10_000 }), 7, {
    field: 'keep',
    description:
      'Number of archives made by the schedule that are kept. Older ones of the schedule are removed, other archives never.',
    appliesOn: 'at-once',
  }),
})
