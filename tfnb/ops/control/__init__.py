"""Control flow: Switch to Exit, If, While, calls, Send and Recv, SymbolicGradient."""
