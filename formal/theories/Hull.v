(* A query that adds up a vector f(row): how far its answer moves, from how far apart two vectors of one row can be.
   Theorem 13 (hulls), and what theorems 10 and 14 say of m rows. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Graphveil Require Import Vectors.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Hull.
Variable R : realDomainType.
Variable I : finType.
Implicit Types S T : finType.

(* Two points of W times a convex hull are at most W times as far apart as two points of the set. *)
Lemma hull_full S T (v : S -> R) (w : T -> R) (f : S -> I -> R) (g : T -> I -> R) (W D : R) :
  (forall s, 0 <= v s) -> (forall t, 0 <= w t) -> \sum_s v s = W -> \sum_t w t = W ->
  (forall s t, sq (fun i => f s i - g t i) <= D) ->
  sq (fun i => \sum_s v s * f s i - \sum_t w t * g t i) <= W ^+ 2 * D.
Proof.
move=> v0 w0 vW wW fg; have W0 : 0 <= W by rewrite -vW; apply: sumr_ge0.
set x := fun i => _ - _.
have twice i : W * x i = \sum_(st : S * T) v st.1 * w st.2 * (f st.1 i - g st.2 i).
  rewrite /x mulrBr -{1}wW mulrC -[in X in _ - X]vW 2!big_distrlr -sumrB.
  rewrite -(pair_big xpredT xpredT (fun s t => v s * w t * (f s i - g t i))) /=; apply: eq_bigr => s _.
  by rewrite -sumrB; apply: eq_bigr => t _ /=; ring.
have WW : \sum_(st : S * T) v st.1 * w st.2 = W ^+ 2.
  by rewrite expr2 -{1}vW -wW big_distrlr /= (pair_big xpredT xpredT).
have le : W ^+ 2 * sq x <= W ^+ 2 * (W ^+ 2 * D).
  rewrite -sq_scale (eq_sq twice).
  have := @sq_weighted R I _ (fun st : S * T => v st.1 * w st.2) (fun st i => f st.1 i - g st.2 i) D.
  rewrite WW => /(_ (fun st => mulr_ge0 (v0 _) (w0 _)) (fun st => fg _ _)).
  by rewrite [W ^+ 2 * (W ^+ 2 * D)]mulrA -expr2.
have [W1|W1] := eqVneq W 0; last by rewrite -(ler_pmul2l (_ : 0 < W ^+ 2)) // exprn_gt0 // lt_def W1.
(* Without any weight nothing is added up. *)
have v1 s : v s = 0 by exact: (psumr_eq0P _ (etrans vW W1)).
have w1 t : w t = 0 by exact: (psumr_eq0P _ (etrans wW W1)).
rewrite W1 expr0n mul0r (_ : sq x = 0) //; rewrite -(@sq0 R I); apply: eq_sq => i; rewrite /x.
by rewrite !big1 ?subr0 // => ? _; rewrite ?v1 ?w1 mul0r.
Qed.

(* A family with the weight that is left, which belongs to the vector 0. *)
Let rest T (w : T -> R) W (o : option T) : R := if o is Some t then w t else W - \sum_t w t.
Let zero T (f : T -> I -> R) (o : option T) : I -> R := if o is Some t then f t else fun=> 0.

Let big_option T (F : option T -> R) : \sum_o F o = F None + \sum_t F (Some t).
Proof.
rewrite (bigD1 None) //=; congr (_ + _); rewrite (reindex_omap Some id) /=; last by case.
by apply: eq_bigl => t; rewrite eqxx.
Qed.

Lemma person_replaced S T (v : S -> R) (w : T -> R) (f : S -> I -> R) (g : T -> I -> R) (W D : R) :
  (forall s, 0 <= v s) -> (forall t, 0 <= w t) -> \sum_s v s <= W -> \sum_t w t <= W ->
  0 <= D -> (forall s t, sq (fun i => f s i - g t i) <= D) -> (forall s, sq (f s) <= D) -> (forall t, sq (g t) <= D) ->
  sq (fun i => \sum_s v s * f s i - \sum_t w t * g t i) <= W ^+ 2 * D.
Proof.
move=> v0 w0 vW wW D0 fg f0 g0.
have := @hull_full _ _ (rest v W) (rest w W) (zero f) (zero g) W D.
rewrite !big_option /= !subrK => H; apply: le_trans (H _ _ erefl erefl _).
- by rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_sq => i; rewrite !big_option /= !mulr0 !add0r.
- by case=> //=; rewrite subr_ge0.
- by case=> //=; rewrite subr_ge0.
case=> [s|] [t|] //=.
- by rewrite (@eq_sq _ _ _ (f s)) // => i; rewrite subr0.
- rewrite (@eq_sq _ _ _ (fun i => (-1) * g t i)); last by move=> i; rewrite sub0r mulN1r.
  by rewrite sq_scale sqrrN expr1n mul1r.
- by rewrite (@eq_sq _ _ _ (fun=> 0)) ?sq0 // => i; rewrite subr0.
Qed.

Lemma person_added T (w : T -> R) (f : T -> I -> R) (W N : R) :
  (forall t, 0 <= w t) -> \sum_t w t <= W -> 0 <= N -> (forall t, sq (f t) <= N) ->
  sq (fun i => \sum_t w t * f t i) <= W ^+ 2 * N.
Proof.
move=> w0 wW N0 fN; apply: le_trans (sq_weighted w0 fN) _.
by apply: ler_wpmul2r => //; rewrite ler_sqr ?nnegrE // ?(le_trans _ wW) ?sumr_ge0.
Qed.

(* Tables with one row for every t; they agree outside a set of at most m rows. *)
Lemma rows_replaced T (A : {set T}) (f g : T -> I -> R) (m : nat) (D : R) :
  (#|A| <= m)%N -> (forall t, t \notin A -> forall i, f t i = g t i) ->
  0 <= D -> (forall s t, sq (fun i => f s i - g t i) <= D) ->
  sq (fun i => \sum_t f t i - \sum_t g t i) <= m%:R ^+ 2 * D.
Proof.
move=> Am fg D0 fD; pose w t : R := (t \in A)%:R.
have Ws : \sum_t w t = #|A|%:R.
  rewrite -natr_sum -sum1_card [X in _ = X%:R]big_mkcond /=.
  by congr (_%:R); apply: eq_bigr => t _; case: (t \in A).
have := @hull_full _ _ w w f g #|A|%:R D (fun t => ler0n _ _) (fun t => ler0n _ _) Ws Ws fD.
rewrite (@eq_sq _ _ _ (fun i => \sum_t f t i - \sum_t g t i)); last first.
  move=> i; rewrite -!sumrB; apply: eq_bigr => t _; rewrite /w; case: (boolP (t \in A)) => [_|tA]; first by rewrite !mul1r.
  by rewrite !mul0r (fg t tA) !subrr.
by move/le_trans; apply; apply: ler_wpmul2r => //; rewrite ler_sqr ?nnegrE ?ler0n // ler_nat.
Qed.

(* The rows of a set of at most m are there, or are not. *)
Lemma rows_added T (A : {set T}) (f : T -> I -> R) (m : nat) (N : R) :
  (#|A| <= m)%N -> 0 <= N -> (forall t, sq (f t) <= N) ->
  sq (fun i => \sum_t f t i - \sum_(t | t \notin A) f t i) <= m%:R ^+ 2 * N.
Proof.
move=> Am N0 fN; pose w t : R := (t \in A)%:R.
have wm : \sum_t w t <= m%:R.
  rewrite -natr_sum ler_nat; apply: leq_trans Am; rewrite -sum1_card [X in (_ <= X)%N]big_mkcond /=.
  by apply: leq_sum => t _; case: (t \in A).
apply: le_trans (person_added (fun t => ler0n _ _) wm N0 fN); rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_sq => i.
rewrite (bigID (mem A)) /= addrK big_mkcond; apply: eq_bigr => t _; rewrite /w /=.
by case: ifP; rewrite ?mul1r ?mul0r.
Qed.

End Hull.
