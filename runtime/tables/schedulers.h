#pragma once

/// What can start the job of a topology, by the variable that it sets in each of its jobs. The compiler reads this table, too.
/// `ROW(name, variable)` for each, with `BETWEEN` between two.
#define LTR_SCHEDULERS(ROW, BETWEEN)                                                 \
  ROW(slurm, "SLURM_JOB_ID")                                                         \
  BETWEEN ROW(k8s, "KUBERNETES_SERVICE_HOST") BETWEEN ROW(azureml, "AZUREML_RUN_ID") \
      BETWEEN ROW(databricks, "DATABRICKS_RUNTIME_VERSION") BETWEEN ROW(sagemaker, "TRAINING_JOB_NAME")

#define LTR_SCHEDULER_NAME(name, variable) #name
/// The type of the setting `scheduler` at run time.
#define LTR_SCHEDULER_TYPE "one_of[" LTR_SCHEDULERS(LTR_SCHEDULER_NAME, ", ") "]"
