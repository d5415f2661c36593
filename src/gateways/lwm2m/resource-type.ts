/** What the value of a resource is [LwM2M 1.1 Core, appendix C]. */
export type ResourceType = 'String' | 'Integer' | 'Float' | 'Boolean' | 'Opaque' | 'Time' | 'Objlnk'
