/** A group on its way to the service, and the key that identifies it. */
import { createHash } from "node:crypto"
import type { KeyedGroup } from "../../service/EnvironmentClient.ts"

export interface Delivery extends KeyedGroup {
  /** Index of the item; held in the cursor until the service has the group. */
  readonly index: number
}

/**
 * The UUID (version 8 form) of a group, determined by lineage, item, requeue path and position, so that rolling out
 * again after a crash replaces and duplicates nothing. `path` is the item's index, then one number per requeue.
 */
export const groupKey = (lineage: string, path: string, position: number): string => {
  const hex = createHash("sha1").update(`${lineage}/${path}/${position}`).digest("hex")
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
