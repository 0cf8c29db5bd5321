/** TRL's own GRPOTrainer on the trajectory service. */
import * as Pytest from "./Pytest.ts"

Pytest.suite([
  ["test_groups.py", "is given groups as they were sent"],
  ["test_training.py", "takes each batch once, with the sampler's log-probabilities in the loss"]
])
