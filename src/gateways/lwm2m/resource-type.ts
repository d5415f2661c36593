/** Types of resource values [LwM2M 1.1 Core, appendix C]. */
export type ResourceType = 'String' | 'Integer' | 'Float' | 'Boolean' | 'Opaque' | 'Time' | 'Objlnk'
