/** The contract of engines, on PyTorch with one process. `nightly/TorchRanks.test.ts` has it on two. */
import { describe } from "@effect/vitest"
import * as Torch from "./Torch.ts"
import * as TorchSubject from "./TorchSubject.ts"

describe.skipIf(!Torch.isPresent)(`PyTorch${Torch.absence}`, () => {
  TorchSubject.suite("torch", 1, "ddp")
})
