/* mpi.h: `pelt-mpi`, the program under mpirun. */

#ifndef PELT_CLI_MPI_H
#define PELT_CLI_MPI_H

/* Makes this process one of several ranks, if it was started so. */
void cli_mpi_begin(int *count, char ***words);
/* Ends with the others: the exit code of all of them. A rank that fails alone ends all. */
int cli_mpi_end(int code);

#endif
