// Rules about volumes, mounts and the claim for the data.

import type { ClusterSpecDraft } from '../resource/cluster-fields.ts'
import { reservedDirectories, reservedVolumes } from '../resource/cluster-names.ts'
import { parseQuantity } from '../resource/resource-quantities.ts'
import { defineRule, ensure, toCelList, type ItemOf, type Rule } from './rule.ts'

type Mount = ItemOf<ClusterSpecDraft['extraVolumeMounts']>
type Storage = NonNullable<ClusterSpecDraft['storage']>

/** Returns the path without slashes that do not matter. */
function normalizePath(path: string): string {
  return `/${path
    .split('/')
    .filter((level) => level !== '' && level !== '.')
    .join('/')}`
}

const volumeRules: readonly Rule[] = [
  defineRule<ClusterSpecDraft>({
    at: 'spec',
    cel: '!has(self.extraVolumes) || self.extraVolumes.all(v, self.extraVolumes.exists_one(w, w.name == v.name))',
    message: 'two volumes have this name',
    hint: 'use each name once',
    check({ extraVolumes = [] }) {
      const names = new Set<string>()
      return extraVolumes.flatMap((volume, index) => {
        const name = volume?.name
        const isGood = name === undefined || !names.has(name)
        if (name !== undefined) names.add(name)
        return ensure(isGood, ['extraVolumes', index, 'name'])
      })
    },
  }),
  defineRule<{ readonly name?: string | undefined }>({
    at: 'spec.extraVolumes[]',
    cel: `!(self.name in ${toCelList(reservedVolumes)})`,
    message: 'a volume of the cluster has this name',
    hint: 'use another name',
    check: ({ name = '' }) => ensure(!reservedVolumes.includes(name), ['name']),
  }),
  defineRule<Readonly<Record<string, unknown>>>({
    at: 'spec.extraVolumes[]',
    cel: undefined,
    message: 'a volume has exactly one source',
    hint: 'set one source, such as secret, configMap, emptyDir or persistentVolumeClaim',
    check: (volume) => ensure(Object.keys(volume).filter((key) => key !== 'name').length === 1, []),
  }),
]

const mountRules: readonly Rule[] = [
  defineRule<ClusterSpecDraft>({
    at: 'spec',
    cel: '!has(self.extraVolumeMounts) || self.extraVolumeMounts.all(m, has(self.extraVolumes) && self.extraVolumes.exists(v, v.name == m.name))',
    message: 'there is no such volume',
    hint: 'name a volume of extraVolumes',
    check({ extraVolumeMounts = [], extraVolumes = [] }) {
      const names = new Set(extraVolumes.map((volume) => volume?.name))
      return extraVolumeMounts.flatMap((mount, index) =>
        ensure(mount?.name === undefined || names.has(mount.name), ['extraVolumeMounts', index, 'name']),
      )
    },
  }),
  defineRule<ClusterSpecDraft>({
    at: 'spec',
    cel: '!has(self.extraVolumeMounts) || self.extraVolumeMounts.all(m, self.extraVolumeMounts.exists_one(n, n.mountPath == m.mountPath))',
    message: 'something else is mounted at this path',
    hint: 'mount each volume at its own path',
    check({ extraVolumeMounts = [] }) {
      const paths = new Set<string>()
      return extraVolumeMounts.flatMap((mount, index) => {
        const path = mount?.mountPath === undefined ? undefined : normalizePath(mount.mountPath)
        const isGood = path === undefined || !paths.has(path)
        if (path !== undefined) paths.add(path)
        return ensure(isGood, ['extraVolumeMounts', index, 'mountPath'])
      })
    },
  }),
  defineRule<Mount>({
    at: 'spec.extraVolumeMounts[]',
    cel: `!(self.mountPath in ${toCelList(['/', ...reservedDirectories])})`,
    message: 'the cluster mounts a volume at this path',
    hint: 'use another path',
    check: ({ mountPath }) =>
      ensure(mountPath === undefined || !['/', ...reservedDirectories].includes(normalizePath(mountPath)), [
        'mountPath',
      ]),
  }),
  defineRule<Mount>({
    at: 'spec.extraVolumeMounts[]',
    cel: "!('..' in self.mountPath.split('/'))",
    message: 'the path has the level ..',
    hint: 'write the path without ..',
    check: ({ mountPath = '' }) => ensure(!mountPath.split('/').includes('..'), ['mountPath']),
  }),
  defineRule<Mount>({
    at: 'spec.extraVolumeMounts[]',
    cel: "!has(self.subPath) || !has(self.subPathExpr) || self.subPath == '' || self.subPathExpr == ''",
    message: 'subPath and subPathExpr exclude each other',
    hint: 'remove one of them',
    check: ({ subPath = '', subPathExpr = '' }) => ensure(subPath === '' || subPathExpr === '', ['subPathExpr']),
  }),
  ...(['subPath', 'subPathExpr'] as const).map((name) =>
    defineRule<Mount>({
      at: 'spec.extraVolumeMounts[]',
      cel: `!has(self.${name}) || (!self.${name}.startsWith('/') && !('..' in self.${name}.split('/')))`,
      message: 'the path is absolute or has the level ..',
      hint: 'write a relative path without ..',
      check: (mount) =>
        ensure(!(mount[name] ?? '').startsWith('/') && !(mount[name] ?? '').split('/').includes('..'), [name]),
    }),
  ),
]

const storageRules: readonly Rule[] = [
  defineRule<Storage>({
    at: 'spec.storage',
    cel: "has(self.resources) && has(self.resources.requests) && 'storage' in self.resources.requests",
    message: 'the claim has no size',
    hint: 'set it, such as 10Gi',
    check: (storage) => {
      const { requests = {} } = storage.resources ?? {}
      return ensure(Object.hasOwn(requests, 'storage'), ['resources', 'requests', 'storage'])
    },
  }),
  defineRule<Storage>({
    at: 'spec.storage',
    cel: undefined,
    message: 'the size of the claim is zero',
    hint: 'set a size such as 10Gi',
    check({ resources }) {
      const size = resources?.requests?.['storage']
      return ensure(size === undefined || parseQuantity(size) !== 0n, ['resources', 'requests', 'storage'])
    },
  }),
  defineRule<Storage>({
    at: 'spec.storage',
    cel: "self.volumeMode != 'Block'",
    message: 'the broker stores its data in a file system',
    hint: 'set volumeMode to Filesystem, or remove it',
    check: ({ volumeMode }) => ensure(volumeMode !== 'Block', ['volumeMode']),
  }),
]

export const storageAndMountRules: readonly Rule[] = [...volumeRules, ...mountRules, ...storageRules]
