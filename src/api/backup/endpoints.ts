// Backup archives: stored in the backup directory, exported and imported.

import { noContent, endpoint, Type } from '../../contract/index.ts'

const node = Type.Optional(
  Type.String({ description: 'Name of the node that has the file. Only this node is possible.' }),
)
const page = Type.Optional(Type.Integer({ minimum: 1, description: 'Number of the page, from 1.' }))
const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 10_000, description: 'Maximum number of rows in a page. Default: 100.' }),
)
const filename = Type.String({ minLength: 1, maxLength: 4_096, description: 'Name of a file in the backup directory.' })
const names = Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 256 }))

const file = {
  filename: Type.String(),
  node: Type.String(),
  created_at: Type.String({
    description: 'Time at which the archive was created, in RFC 3339 with the offset of the time zone.',
  }),
  created_at_sec: Type.Integer(),
  size: Type.Integer({ description: 'Size of the file, in bytes.' }),
}
const params = Type.Object({ filename: Type.String() })
const ofFile = Type.Object({ node })

const configurationChange = {
  key: Type.String(),
  old: Type.Union([Type.String(), Type.Null()], { description: 'Old value; null: the default.' }),
  new: Type.Union([Type.String(), Type.Null()]),
}
const importOutcome = Type.Object({
  dry_run: Type.Boolean(),
  tables: Type.Array(
    Type.Object({
      table: Type.String(),
      inserts: Type.Integer(),
      updates: Type.Integer(),
      unchanged: Type.Integer(),
      conflicts: Type.Array(Type.String(), {
        description: 'First entries that exist with other values and are replaced.',
      }),
    }),
  ),
  configuration: Type.Array(Type.Object({ ...configurationChange, needs_restart: Type.Boolean() })),
  warnings: Type.Array(Type.String(), { description: 'Effects of the restore that an administrator may not expect.' }),
})
const description = Type.Object({
  ...file,
  product: Type.String(),
  version: Type.String(),
  format: Type.Integer(),
  security_profile: Type.Union([Type.Literal('hardened'), Type.Literal('legacy')]),
  exported_at: Type.String(),
  members: Type.Array(Type.Object({ name: Type.String(), size: Type.Integer(), sha256: Type.String() })),
  counts: Type.Record(Type.String(), Type.Integer()),
})
const difference = Type.Object({
  tables: Type.Array(
    Type.Object({
      table: Type.String(),
      only_in_first: Type.Integer(),
      only_in_second: Type.Integer(),
      different: Type.Integer(),
      examples: Type.Array(
        Type.Object({
          name: Type.String(),
          where: Type.Union([Type.Literal('first'), Type.Literal('second'), Type.Literal('both')]),
        }),
      ),
    }),
  ),
  configuration: Type.Array(Type.Object(configurationChange)),
})
const progress = Type.Object({
  job: Type.Union([Type.Literal('export'), Type.Literal('import'), Type.Literal('verify'), Type.Literal('diff')]),
  part: Type.String(),
  done: Type.Integer(),
  total: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Value of `done` at the end of this part; null: unknown.',
  }),
})

const all = { version: 'v5', isForNamespaces: true } as const

export const backupEndpoints = {
  get_backup_files: endpoint({
    ...all,
    method: 'GET',
    path: '/data/files',
    summary: 'Lists the files in the backup directory, newest first.',
    query: Type.Object({ page, limit }),
    reply: Type.Object({
      code: Type.Literal(0),
      data: Type.Array(Type.Object(file)),
      meta: Type.Object({
        page: Type.Integer(),
        limit: Type.Integer(),
        count: Type.Integer(),
        hasnext: Type.Boolean(),
      }),
    }),
    access: 'read',
  }),
  upload_backup_file: endpoint({
    ...all,
    method: 'POST',
    path: '/data/files',
    summary: 'Uploads an archive to the backup directory, with the file name of the form. Restores nothing.',
    body: 'upload',
    reply: Type.Object({ code: Type.Literal(0), ...file }),
    access: 'change',
    isLong: true,
  }),
  download_backup_file: endpoint({
    ...all,
    method: 'GET',
    path: '/data/files/:filename',
    summary: 'Downloads a file from the backup directory. The file contains all secrets of the broker.',
    params,
    query: ofFile,
    reply: 'bytes',
    audit: 'always',
    reasons: ['NOT_FOUND', 'FORBIDDEN'],
    access: 'change',
    isLong: true,
  }),
  delete_backup_file: endpoint({
    ...all,
    method: 'DELETE',
    path: '/data/files/:filename',
    summary: 'Deletes a file from the backup directory.',
    params,
    query: ofFile,
    reply: noContent,
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
  import_backup: endpoint({
    ...all,
    method: 'POST',
    path: '/data/import',
    summary: 'Restores an archive: adds missing entries, replaces entries that differ, and deletes none.',
    body: Type.Object({
      filename,
      node,
      allow_security_profile_mismatch: Type.Optional(Type.Boolean()),
      dry_run: Type.Optional(
        Type.Boolean({ description: 'true: change nothing, and return what would change. Default: false.' }),
      ),
      parts: names,
    }),
    reply: Type.Object({ code: Type.Literal(0), data: importOutcome }),
    reasons: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
    access: 'change',
    isLong: true,
  }),
  export_backup: endpoint({
    ...all,
    method: 'POST',
    path: '/data/export',
    summary: 'Creates an archive of the current state in the backup directory.',
    body: Type.Object({ table_sets: names, root_keys: names }),
    bodyMayBeAbsent: true,
    reply: Type.Object({
      code: Type.Literal(0),
      ...file,
      tables: Type.Array(Type.String(), { description: 'Tables in the archive.' }),
    }),
    reasons: ['CONFLICT'],
    access: 'change',
    isLong: true,
  }),
  verify_backup: endpoint({
    ...all,
    method: 'POST',
    path: '/data/verify',
    summary: 'Checks whether a file is a complete archive, and returns its contents.',
    body: Type.Object({ filename }),
    reply: Type.Object({ code: Type.Literal(0), data: description }),
    reasons: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
    access: 'change',
    isLong: true,
  }),
  compare_backups: endpoint({
    ...all,
    method: 'POST',
    path: '/data/diff',
    summary: 'Lists the differences between two archives, or between an archive and the current state of the broker.',
    body: Type.Object({ first: filename, second: Type.Optional(filename) }),
    reply: Type.Object({ code: Type.Literal(0), data: difference }),
    reasons: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
    access: 'change',
    isLong: true,
  }),
  get_backup_progress: endpoint({
    ...all,
    method: 'GET',
    path: '/data/progress',
    summary: 'Returns the progress of the running export, import, verification or comparison.',
    reply: Type.Object({ code: Type.Literal(0), data: Type.Union([progress, Type.Null()]) }),
    access: 'read',
  }),
}
