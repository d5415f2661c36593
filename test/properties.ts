// fast-check with one seed, so that every run tests the same inputs. GODWIT_PROPERTY_SEED=N tests others.

import fc from 'fast-check'

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['GODWIT_PROPERTY_SEED'] ?? 1) })

export { fc }
