package keyfd

func closeOnExec(int) {} // no process inherits a handle that it is not given
