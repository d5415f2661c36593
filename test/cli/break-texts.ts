// Preloaded into the program by a test: what the broker only shows at its start cannot be made, or not be written.

import { X509Certificate } from 'node:crypto'
import { isMainThread } from 'node:worker_threads'

const fail = (): never => {
  throw new Error('broken on purpose')
}

if (isMainThread && process.env['GODWIT_TEST_BREAKS'] === 'certificates') {
  X509Certificate.prototype.checkHost = fail
  X509Certificate.prototype.checkIP = fail
}
if (isMainThread && process.env['GODWIT_TEST_BREAKS'] === 'stdout') process.stdout.write = fail
